"""Ops that work value by value."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes, member


@encodes("activation")
def activation(s: Scope, op: Op) -> Any:
    layer = s.made(
        s.net.add_activation(s.input(op, "input"), member(s.trt.ActivationType, op.attr("activationType")))
    )
    alpha, beta = op.attr("alpha"), op.attr("beta")
    if alpha is not None:
        layer.alpha = alpha
    if beta is not None:
        layer.beta = beta
    return layer.get_output(0)


@encodes("unary")
def unary(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_unary(s.input(op, "input"), member(s.trt.UnaryOperation, op.attr("unaryOperation"))))


@encodes("element_wise")
def element_wise(s: Scope, op: Op) -> Any:
    operation = member(s.trt.ElementWiseOperation, op.attr("elementwiseOperation"))
    return s.out(s.net.add_elementwise(s.input(op, "input1"), s.input(op, "input2"), operation))


@encodes("scale")
def scale(s: Scope, op: Op) -> Any:
    shift, factor, power = (
        s.trt.Weights(s.dtype(op.type("input").element_type))
        if attribute is None
        else s.bank.weights(attribute)
        for attribute in (op.raw("shift"), op.raw("scale"), op.raw("power"))
    )
    mode = member(s.trt.ScaleMode, op.attr("mode"))
    return s.out(s.net.add_scale_nd(s.input(op, "input"), mode, shift, factor, power, op.attr("channelAxis")))


@encodes("cast")
def cast(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_cast(s.input(op, "input"), s.result_dtype(op)))


@encodes("identity")
def identity(s: Scope, op: Op) -> Any:
    source, dtype = s.input(op, "input"), s.result_dtype(op)
    if source.dtype == dtype:
        return s.out(s.net.add_identity(source))
    return s.out(s.net.add_cast(source, dtype))


@encodes("select")
def select(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_select(s.input(op, "condition"), s.input(op, "thenInput"), s.input(op, "elseInput")))


@encodes("parametric_relu")
def parametric_relu(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_parametric_relu(s.input(op, "input"), s.input(op, "slope")))
