// RUN: opt --split-input-file

#map = affine_map<(d0, d1, d2) -> (d2, d1, d0)>
module {
  func.func @order(%x: tensor<2x3x4xf32>) -> tensor<12x2xf32> {
    %0 = tensorrt.transpose {permutation = #map} %x : tensor<2x3x4xf32> to tensor<4x3x2xf32>
    %1 = tensorrt.reshape %0 : tensor<4x3x2xf32> to tensor<12x2xf32>
    return %1 : tensor<12x2xf32>
  }
}

// -----

module {
  func.func @ranks(%x: tensor<?x3xf16>) -> tensor<?x3xf16> {
    %0 = tensorrt.expand_rank %x : tensor<?x3xf16> to tensor<1x?x1x3xf16>
    %1 = tensorrt.collapse_rank %0 : tensor<1x?x1x3xf16> to tensor<?x3xf16>
    %2 = tensorrt.unsqueeze {axes = array<i64: -1>} %1 : tensor<?x3xf16> to tensor<?x3x1xf16>
    %3 = tensorrt.squeeze {axes = array<i64: 2>} %2 : tensor<?x3x1xf16> to tensor<?x3xf16>
    return %3 : tensor<?x3xf16>
  }
}

// -----

module {
  func.func @shuffled(%x: tensor<?x4xf32>, %shape: tensor<2xi32>) -> (tensor<4x?xf32>, tensor<?x?xf32>) {
    %0 = tensorrt.shuffle {first_transpose = array<i64: 1, 0>, second_transpose = array<i64: 0, 1>} ins(%x : tensor<?x4xf32>) -> tensor<4x?xf32>
    %1 = tensorrt.shuffle {first_transpose = array<i64: 0, 1>, second_transpose = array<i64: 0, 1>, zero_is_placeholder = false} ins(%x, %shape : tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    return %0, %1 : tensor<4x?xf32>, tensor<?x?xf32>
  }
}

// -----

module {
  func.func @parts(%x: tensor<6x8xi32>, %size: tensor<2xi32>) -> (tensor<2x4xi32>, tensor<?x?xi32>) {
    %0 = tensorrt.slice %x[1, 0][2, 4][3, 2] : tensor<6x8xi32> to tensor<2x4xi32>
    %1 = tensorrt.slice %x[0, 0][%size: tensor<2xi32>][1, 1] : tensor<6x8xi32> to tensor<?x?xi32>
    return %0, %1 : tensor<2x4xi32>, tensor<?x?xi32>
  }
}

// -----

module {
  func.func @joined(%x: tensor<2x?xf32>, %y: tensor<2x5xf32>) -> (tensor<2x?xf32>, tensor<2xi32>) {
    %0 = tensorrt.concatenation {axis = 1 : i32} ins(%x, %y : tensor<2x?xf32>, tensor<2x5xf32>) -> tensor<2x?xf32>
    %1 = tensorrt.shape %0 : tensor<2x?xf32> -> tensor<2xi32>
    return %0, %1 : tensor<2x?xf32>, tensor<2xi32>
  }
}

// -----

module {
  func.func @repeated(%x: tensor<3xf32>, %shape: tensor<2xi32>) -> tensor<?x3xf32> {
    %0 = tensorrt.broadcast %x broadcast_dims<1> shape(%shape : tensor<2xi32>) : tensor<3xf32> to tensor<?x3xf32>
    return %0 : tensor<?x3xf32>
  }
}

// -----

module {
  func.func @gathered(%x: tensor<4x8xf32>, %i: tensor<2x3xi32>, %n: tensor<5x2xi32>) -> (tensor<4x2x3xf32>, tensor<5xf32>, tensor<2x3xf32>) {
    %0 = tensorrt.gather {axis = 1 : i64} ins(%x, %i : tensor<4x8xf32>, tensor<2x3xi32>) -> tensor<4x2x3xf32>
    %1 = tensorrt.gather_nd data(%x) indices(%n) : (tensor<4x8xf32>, tensor<5x2xi32>) -> tensor<5xf32>
    %2 = tensorrt.gather_elements {axis = 0 : i64} ins(%x, %i : tensor<4x8xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
    return %0, %1, %2 : tensor<4x2x3xf32>, tensor<5xf32>, tensor<2x3xf32>
  }
}

// -----

module {
  func.func @scattered(%x: tensor<4x8xf32>, %i: tensor<1x2xi32>, %u: tensor<1xf32>, %v: tensor<1x2xf32>) -> tensor<4x8xf32> {
    %0 = tensorrt.scatter_nd data(%x : tensor<4x8xf32>) indices(%i : tensor<1x2xi32>) updates(%u : tensor<1xf32>)
    %1 = tensorrt.scatter_elements {axis = 1 : i64} data(%0 : tensor<4x8xf32>) indices(%i : tensor<1x2xi32>) updates(%v : tensor<1x2xf32>)
    return %1 : tensor<4x8xf32>
  }
}
