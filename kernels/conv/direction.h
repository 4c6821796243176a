// The three directions of a convolution, each of which may have an algorithm of its own.

#ifndef DTNN_KERNELS_CONV_DIRECTION_H_
#define DTNN_KERNELS_CONV_DIRECTION_H_

#include <cstdint>
#include <string_view>

namespace dtnn::conv {

enum class Direction : uint8_t { kForward, kBackwardData, kBackwardFilter };

inline constexpr Direction kDirections[] = {Direction::kForward, Direction::kBackwardData,
                                            Direction::kBackwardFilter};

inline std::string_view Name(Direction direction) {
  switch (direction) {
    case Direction::kForward:
      return "forward";
    case Direction::kBackwardData:
      return "backward data";
    case Direction::kBackwardFilter:
      return "backward filter";
  }
  return "?";
}

// Some of the three.
struct Directions {
  bool forward = true, backward_data = true, backward_filter = true;

  static Directions Only(Direction direction) {
    return {.forward = direction == Direction::kForward,
            .backward_data = direction == Direction::kBackwardData,
            .backward_filter = direction == Direction::kBackwardFilter};
  }
  bool Has(Direction direction) const {
    switch (direction) {
      case Direction::kForward:
        return forward;
      case Direction::kBackwardData:
        return backward_data;
      case Direction::kBackwardFilter:
        break;
    }
    return backward_filter;
  }
};

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_DIRECTION_H_
