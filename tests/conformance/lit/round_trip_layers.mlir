// RUN: opt --split-input-file

module {
  func.func @image(%x: tensor<?x3x16x16xf32>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>) -> tensor<?x8x8x8xf32> {
    %0 = tensorrt.convolution {post_padding = array<i64: 1, 1>, pre_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>} in(%x : tensor<?x3x16x16xf32>) kernel(%w : tensor<8x3x3x3xf32>) bias(%b : tensor<8xf32>) -> tensor<?x8x16x16xf32>
    %1 = tensorrt.pooling {poolingType = #tensorrt.pooling_type<kMAX>, postPadding = array<i64: 0, 0>, prePadding = array<i64: 0, 0>, stride = array<i64: 2, 2>, windowSize = array<i64: 2, 2>} ins(%0 : tensor<?x8x16x16xf32>) -> tensor<?x8x8x8xf32>
    return %1 : tensor<?x8x8x8xf32>
  }
}

// -----

module {
  func.func @products(%x: tensor<2x3x4xf32>, %y: tensor<2x5x4xf32>, %v: tensor<4xf32>, %m: tensor<3x4xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<2x5x3xf32>) {
    %0 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, op1 = #tensorrt.matrix_operation<kTRANSPOSE>} ins(%x, %y : tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
    %1 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, op1 = #tensorrt.matrix_operation<kVECTOR>} ins(%m, %v : tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
    %2 = tensorrt.einsum {equation = "bij,bkj->bki"} ins(%x, %y : tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x3xf32>
    return %0, %1, %2 : tensor<2x3x5xf32>, tensor<3xf32>, tensor<2x5x3xf32>
  }
}

// -----

module {
  func.func @normal(%x: tensor<1x4x8x8xf32>, %s: tensor<1x4x1x1xf32>, %b: tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
    %0 = tensorrt.normalization {axis = array<i64: 2, 3>, eps = 1.000000e-03 : f32}(%x : tensor<1x4x8x8xf32>, %s : tensor<1x4x1x1xf32>, %b : tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
    return %0 : tensor<1x4x8x8xf32>
  }
}

// -----

module {
  func.func @numbers(%x: tensor<2x8xf32>, %s: tensor<f32>) -> tensor<2x8xf32> {
    %0 = tensorrt.quantize in(%x : tensor<2x8xf32>) scale(%s : tensor<f32>) -> tensor<2x8xi8>
    %1 = tensorrt.dequantize in(%0 : tensor<2x8xi8>) scale(%s : tensor<f32>) -> tensor<2x8xf32>
    return %1 : tensor<2x8xf32>
  }
}

// -----

module {
  func.func @attended(%q: tensor<1x8x?x16xf16>, %k: tensor<1x2x?x16xf16>, %m: tensor<1x1x?x?xi1>) -> tensor<1x8x?x16xf16> {
    %0 = tensorrt.attention {decomposable = true} ins(%q, %k, %k : tensor<1x8x?x16xf16>, tensor<1x2x?x16xf16>, tensor<1x2x?x16xf16>) mask(%m : tensor<1x1x?x?xi1>) -> tensor<1x8x?x16xf16>
    return %0 : tensor<1x8x?x16xf16>
  }
}

// -----

module {
  func.func @turned(%x: tensor<2x4x8x16xf32>, %c: tensor<32x8xf32>, %p: tensor<2x8xi32>) -> tensor<2x4x8x16xf32> {
    %0 = tensorrt.rotary_embedding ins(%x, %c, %c : tensor<2x4x8x16xf32>, tensor<32x8xf32>, tensor<32x8xf32>) position_ids(%p : tensor<2x8xi32>) -> tensor<2x4x8x16xf32>
    return %0 : tensor<2x4x8x16xf32>
  }
}

// -----

module {
  func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tensorrt.if(%c : tensor<i1>) -> tensor<4xf32> {
      %1 = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kNEG>} %x : tensor<4xf32>
      tensorrt.yield %1 : tensor<4xf32>
    } else {
      tensorrt.yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  func.func @counted(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = tensorrt.constant dense<0> : tensor<i32>
    %one = tensorrt.constant dense<1> : tensor<i32>
    %0 = tensorrt.for %i = %zero to %n step %one init(%a = %x) -> (tensor<4xf32>) {
      %1 = tensorrt.element_wise <kPROD>(%a, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      tensorrt.yield %1 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  tensorrt.module @engines {
    func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tensorrt.element_wise <kSUM>(%x, %x : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tensorrt.call_alloc @engines::@twice(%x : tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
