// RUN: opt --split-input-file

module {
  func.func @activations(%x: tensor<2x?xf16>) -> tensor<2x?xf16> {
    %relu = tensorrt.activation {activationType = #tensorrt.activation_type<kRELU>} %x : tensor<2x?xf16>
    %clip = tensorrt.activation {activationType = #tensorrt.activation_type<kCLIP>, alpha = -1.000000e+00 : f32, beta = 6.000000e+00 : f32} %relu : tensor<2x?xf16>
    %elu = tensorrt.activation {activationType = #tensorrt.activation_type<kELU>, alpha = 5.000000e-01 : f32} %clip : tensor<2x?xf16>
    return %elu : tensor<2x?xf16>
  }
}

// -----

module {
  func.func @unaries(%x: tensor<f32>, %b: tensor<4xi1>, %n: tensor<2x2xi64>) -> (tensor<f32>, tensor<4xi1>, tensor<2x2xi64>) {
    %round = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kROUND>} %x : tensor<f32>
    %not = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kNOT>} %b : tensor<4xi1>
    %abs = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kABS>} %n : tensor<2x2xi64>
    return %round, %not, %abs : tensor<f32>, tensor<4xi1>, tensor<2x2xi64>
  }
}

// -----

module {
  func.func @binaries(%x: tensor<?x3xf32>, %y: tensor<1x3xf32>) -> tensor<?x3xi1> {
    %sum = tensorrt.element_wise <kSUM>(%x, %y : tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
    %power = tensorrt.element_wise <kPOW>(%sum, %x : tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %less = tensorrt.element_wise <kLESS>(%power, %y : tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xi1>
    return %less : tensor<?x3xi1>
  }
}

// -----

module {
  func.func @chosen(%c: tensor<2x1xi1>, %x: tensor<2x3xi32>, %y: tensor<1x3xi32>, %z: tensor<2x3xf32>, %s: tensor<1x1xf32>) -> (tensor<2x3xi32>, tensor<2x3xf32>) {
    %0 = tensorrt.select ins(%c, %x, %y : tensor<2x1xi1>, tensor<2x3xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>
    %1 = tensorrt.parametric_relu ins(%z, %s : tensor<2x3xf32>, tensor<1x1xf32>) -> tensor<2x3xf32>
    return %0, %1 : tensor<2x3xi32>, tensor<2x3xf32>
  }
}

// -----

module {
  func.func @types(%x: tensor<2xf32>) -> tensor<2xf32> {
    %half = tensorrt.cast %x : tensor<2xf32> to tensor<2xf16>
    %same = tensorrt.identity %half : tensor<2xf16> to tensor<2xf16>
    %back = tensorrt.cast %same : tensor<2xf16> to tensor<2xf32>
    return %back : tensor<2xf32>
  }
}

// -----

module {
  func.func @made() -> (tensor<3xi32>, tensor<2x2xf32>, tensor<4xf32>, tensor<2xf16>) {
    %numbers = tensorrt.constant dense<[1, -2, 3]> : tensor<3xi32>
    %splat = tensorrt.constant dense<1.500000e+00> : tensor<2x2xf32>
    %ramp = tensorrt.linspace[1.000000e+00] [static] [2.000000e+00] : tensor<4xf32>
    %drawn = tensorrt.random_normal {static_mean = 1.000000e+00 : f64, static_std = 2.000000e+00 : f64} -> tensor<2xf16>
    return %numbers, %splat, %ramp, %drawn : tensor<3xi32>, tensor<2x2xf32>, tensor<4xf32>, tensor<2xf16>
  }
}

// -----

module {
  func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<2x3x1xf32>, tensor<2x2x4xf32>, tensor<2x2x4xi32>) {
    %0 = tensorrt.reduce <kMAX> %x {reduceAxes = array<i64: 0, 2>} : tensor<2x3x4xf32> -> tensor<3xf32>
    %1 = tensorrt.reduce <kAVG> %x {keepDimensions = true, reduceAxes = array<i64: 2>} : tensor<2x3x4xf32> -> tensor<2x3x1xf32>
    %2 = tensorrt.softmax {axis = 0 : i64} %x : tensor<2x3x4xf32>
    %3 = tensorrt.cumulative <kSUM> %2 {axis = 1 : i64, exclusive = true} : tensor<2x3x4xf32>
    %4:2 = tensorrt.top_k <kMIN> {axis = 1 : i64, k = 2 : i64} %3 : tensor<2x3x4xf32> -> tensor<2x2x4xf32>, tensor<2x2x4xi32>
    return %0, %1, %4#0, %4#1 : tensor<3xf32>, tensor<2x3x1xf32>, tensor<2x2x4xf32>, tensor<2x2x4xi32>
  }
}
