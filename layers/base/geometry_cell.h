// The settings cell of layers that slide a window: "padd=(1,1), stride=(2,2), dilat=(1,1)".

#ifndef DTNN_LAYERS_BASE_GEOMETRY_CELL_H_
#define DTNN_LAYERS_BASE_GEOMETRY_CELL_H_

#include <string>

#include "kernels/operands/pair.h"

namespace dtnn {

std::string GeometryCell(const Pair& padding, const Pair& stride, const Pair& dilation);

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_GEOMETRY_CELL_H_
