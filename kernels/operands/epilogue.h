// What a convolution or matrix product does to each element before writing it, while it is still in
// a register: y = activation(scale * acc + bias + addend). Operands are per output channel (scale,
// bias) or shaped like the output (addend, the residual branch).
//
// A spec carries an Epilogue (what will be asked), a call carries the EpilogueOperands. A variant
// that cannot apply one refuses the spec; it never ignores a part.

#ifndef DTNN_KERNELS_OPERANDS_EPILOGUE_H_
#define DTNN_KERNELS_OPERANDS_EPILOGUE_H_

#include "tensor/tensor.h"

namespace dtnn {

struct Epilogue {
  bool bias = false;
  bool scale = false;  // batch normalisation folded into the write-back
  bool add = false;
  bool relu = false;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

struct EpilogueOperands {
  Tensor bias = {}, scale = {};  // (channels,)
  Tensor addend = {};            // shape and pitch rules of the output
  Tensor column_sums = {};       // written, by products that are made for it (gemm.h)
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_OPERANDS_EPILOGUE_H_
