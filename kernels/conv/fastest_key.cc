#include "kernels/conv/fastest_key.h"

#include <string_view>

namespace dtnn {
namespace {

using conv::Direction;

std::string_view Word(Direction direction) {
  switch (direction) {
    case Direction::kForward:
      return "forward";
    case Direction::kBackwardData:
      return "backward_data";
    case Direction::kBackwardFilter:
      break;
  }
  return "backward_filter";
}

}  // namespace

Conv2dSpec conv::SpecOf(Conv2dSpec spec, Direction direction) {
  if (direction == Direction::kBackwardData) spec.epilogue = {};
  if (direction == Direction::kBackwardFilter) spec.epilogue = {.bias = spec.epilogue.bias};
  return spec;
}

BestOfKey FastestConv2dKey(const Conv2dSpec& spec, Direction direction, bool keeps_filter) {
  const bool kept = keeps_filter && direction != Direction::kBackwardFilter;
  return BestOfKey::Here("conv2d", Word(direction),
                         conv::SpecOf(spec, direction).ToString() + (kept ? "_kept" : ""));
}

}  // namespace dtnn
