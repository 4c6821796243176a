// The variant for a direction of a spec where nobody names one: the first of a list, from the most
// special to the most general, that supports it and pays there.

#include "kernels/conv/conv2d.h"

namespace dtnn {

std::string_view AutomaticVariant(const Conv2dSpec& spec, conv::Direction direction) {
  // A single channel has no neighbours to fill a vector with.
  const bool many = spec.channels > 1;
  if (many && Conv2dRefusal("depthwise", spec, direction).empty()) return "depthwise";
  return Conv2dRefusal("direct", spec, direction).empty() ? "direct" : "gemm";
}

}  // namespace dtnn
