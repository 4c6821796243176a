// Other names of the variants (variants.inc): "planar", and PyDTNN's names of its direct kernels.
// They say an algorithm, an order of axes, and a register tile, which the instruction set decides
// here.

#ifndef DTNN_KERNELS_CONV_CHOICE_DIRECT_METHODS_H_
#define DTNN_KERNELS_CONV_CHOICE_DIRECT_METHODS_H_

#include <string_view>

namespace dtnn {

// The variant that computes by this method; empty where there is no such method.
std::string_view VariantOfDirectMethod(std::string_view method);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_CHOICE_DIRECT_METHODS_H_
