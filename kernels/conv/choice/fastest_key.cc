#include "kernels/conv/choice/fastest_key.h"

#include <algorithm>
#include <string>

namespace dtnn {
namespace {

using conv::Direction;

// A name as a word of a key: "backward_data".
std::string Word(Direction direction) {
  std::string word(conv::Name(direction));
  std::ranges::replace(word, ' ', '_');
  return word;
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
