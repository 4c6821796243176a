#include "layers/base/geometry_cell.h"

#include "absl/strings/str_format.h"

namespace dtnn {

std::string GeometryCell(const Pair& padding, const Pair& stride, const Pair& dilation) {
  return absl::StrFormat("padd=(%d,%d), stride=(%d,%d), dilat=(%d,%d)", padding.vertical,
                         padding.horizontal, stride.vertical, stride.horizontal, dilation.vertical,
                         dilation.horizontal);
}

}  // namespace dtnn
