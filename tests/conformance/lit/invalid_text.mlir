// RUN: opt --split-input-file --verify-diagnostics

func.func @name(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tensorrt.unari {unaryOperation = #tensorrt.unary_operation<kNEG>} %x : tensor<2xf32> // expected-error {{unknown op tensorrt.unari}}
  return %0 : tensor<2xf32>
}
// -----
func.func @enum(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{tensorrt.element_wise_operation has no value kADD}}
  %0 = tensorrt.element_wise <kADD>(%x, %x : tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @value(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{use of undeclared SSA value name}}
  %0 = tensorrt.identity %y : tensor<2xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @punctuation(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected 'to'}}
  %0 = tensorrt.identity %x : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @type(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{use of value '%x' expects different type than prior uses: 'tensor<3xf32>' vs 'tensor<2xf32>'}}
  %0 = tensorrt.identity %x : tensor<3xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// expected-warning @below {{only errors are compared}}
// expected-remark @below {{nor is this}}
func.func @fine(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
