// RUN: opt --split-input-file --verify-diagnostics

func.func @axis(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{axis = 2 is not a dimension}}
  %0 = tensorrt.softmax {axis = 2 : i64} %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
// -----
func.func @shapes(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = tensorrt.element_wise <kSUM>(%x, %y : tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error @above {{input1 tensor<2x4xf32> and input2 tensor<3x4xf32> do not broadcast}}
  return %0 : tensor<2x4xf32>
}
// -----
func.func @ranks(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{input1 tensor<2x4xf32> and input2 tensor<4xf32> do not broadcast}}
  %0 = tensorrt.element_wise <kSUM>(%x, %y : tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
// -----
func.func @logic(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tensorrt.element_wise <kAND>(%x, %x : tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> // expected-error {{elementwiseOperation kAND takes i1 only}}
  return %0 : tensor<2xf32>
}
// -----
func.func @condition(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{condition is tensor<2xf32>}}
  %0 = tensorrt.select ins(%x, %x, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @count(%x: tensor<2x3xf32>) -> tensor<7xf32> {
  // expected-error @below {{input tensor<2x3xf32> has 6 elements and result tensor<7xf32> has 7}}
  %0 = tensorrt.reshape %x : tensor<2x3xf32> to tensor<7xf32>
  return %0 : tensor<7xf32>
}
// -----
func.func @order(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{permutation = (d0, d1) -> (d0, d0) must be a permutation of the 2 dimensions of tensor<2x3xf32>}}
  %0 = tensorrt.transpose {permutation = affine_map<(d0, d1) -> (d0, d0)>} %x : tensor<2x3xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
func.func @inferred(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{result is declared tensor<2x3xf32> but inferred tensor<3x2xf32>}}
  %0 = tensorrt.transpose {permutation = affine_map<(d0, d1) -> (d1, d0)>} %x : tensor<2x3xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
func.func @expanded(%x: tensor<2x3xf32>) -> tensor<2x2x3xf32> {
  // expected-error @below {{input is tensor<2x3xf32> and result is tensor<2x2x3xf32>}}
  %0 = tensorrt.expand_rank %x : tensor<2x3xf32> to tensor<2x2x3xf32>
  return %0 : tensor<2x2x3xf32>
}
// -----
func.func @collapsed(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  // expected-error @below {{input is tensor<2x3xf32> and result is tensor<6xf32>}}
  %0 = tensorrt.collapse_rank %x : tensor<2x3xf32> to tensor<6xf32>
  return %0 : tensor<6xf32>
}
// -----
func.func @window(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @below {{static_start = [0, 0] must have 1 values, one per dimension of tensor<8xf32>}}
  %0 = tensorrt.slice %x[0, 0][4, 1][1, 1] : tensor<8xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @joined(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<2x6xf32> {
  // expected-error @below {{inputs tensor<2x3xf32> and tensor<4x3xf32> may differ only along axis 1}}
  %0 = tensorrt.concatenation {axis = 1 : i32} ins(%x, %y : tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}
// -----
func.func @product(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) -> tensor<2x5xf32> {
  // expected-error @below {{input0 tensor<2x3xf32> read as kNONE and input1 tensor<4x5xf32> read as kNONE sum over 3 and 4 elements}}
  %0 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, op1 = #tensorrt.matrix_operation<kNONE>} ins(%x, %y : tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}
// -----
func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x5x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // expected-error @below {{input tensor<1x3x8x8xf32> has 3 channels}}
  %0 = tensorrt.convolution {post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} in(%x : tensor<1x3x8x8xf32>) kernel(%w : tensor<4x5x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}
// -----
func.func @pooled(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x5x5xf32> {
  // expected-error @below {{result is declared tensor<1x3x5x5xf32> but inferred tensor<1x3x4x4xf32>}}
  %0 = tensorrt.pooling {poolingType = #tensorrt.pooling_type<kMAX>, postPadding = array<i64: 0, 0>, prePadding = array<i64: 0, 0>, stride = array<i64: 2, 2>, windowSize = array<i64: 2, 2>} ins(%x : tensor<1x3x8x8xf32>) -> tensor<1x3x5x5xf32>
  return %0 : tensor<1x3x5x5xf32>
}
// -----
func.func @reduced(%x: tensor<2x8xf32>) -> tensor<2x2xf32> {
  // expected-error @below {{result is declared tensor<2x2xf32> but inferred tensor<2x1xf32>}}
  %0 = tensorrt.reduce <kSUM> %x {keepDimensions = true, reduceAxes = array<i64: 1>} : tensor<2x8xf32> -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
// -----
func.func @most(%x: tensor<2x8xf32>) -> (tensor<2x9xf32>, tensor<2x9xi32>) {
  // expected-error @below {{k = 9 is more than the 8 elements along axis 1 of tensor<2x8xf32>}}
  %v, %i = tensorrt.top_k <kMAX> {axis = 1 : i64, k = 9 : i64} %x : tensor<2x8xf32> -> tensor<2x9xf32>, tensor<2x9xi32>
  return %v, %i : tensor<2x9xf32>, tensor<2x9xi32>
}
// -----
func.func @gathered(%x: tensor<4x8xf32>, %i: tensor<3xf32>) -> tensor<3x8xf32> {
  // expected-error @below {{indices is tensor<3xf32>}}
  %0 = tensorrt.gather {axis = 0 : i64} ins(%x, %i : tensor<4x8xf32>, tensor<3xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
// -----
func.func @masked(%q: tensor<1x4x8x16xf32>, %m: tensor<1x1x8x8xf32>) -> tensor<1x4x8x16xf32> {
  // expected-error @below {{causalKind = kUPPER_LEFT and a mask exclude each other}}
  %0 = tensorrt.attention {causalKind = #tensorrt.causal_mask_kind<kUPPER_LEFT>, decomposable = true} ins(%q, %q, %q : tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>) mask(%m : tensor<1x1x8x8xf32>) -> tensor<1x4x8x16xf32>
  return %0 : tensor<1x4x8x16xf32>
}
// -----
func.func @filled() -> tensor<?xf32> {
  // expected-error @below {{result is tensor<?xf32>}}
  %0 = tensorrt.random_uniform {static_low = 0.0 : f64} -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
// Two errors in one program, and a regular expression.
func.func @two(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error-re @below {{axis = {{[0-9]+}} is not a dimension}}
  %0 = tensorrt.softmax {axis = 7 : i64} %x : tensor<2x4xf32>
  // expected-error-re @below {{axis = {{[0-9]+}} is not a dimension}}
  %1 = tensorrt.softmax {axis = 8 : i64} %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
