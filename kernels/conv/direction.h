// The three directions of a convolution, each of which may have an algorithm of its own.

#ifndef DTNN_KERNELS_CONV_DIRECTION_H_
#define DTNN_KERNELS_CONV_DIRECTION_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
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

// A value for each of the three, in their order.
template <typename T>
struct PerDirection {
  T values[std::size(kDirections)] = {};

  T& operator[](Direction direction) { return values[size_t(direction)]; }
  const T& operator[](Direction direction) const { return values[size_t(direction)]; }
};

// Some of the three.
using Directions = PerDirection<bool>;
inline constexpr Directions kAllDirections = {true, true, true};
inline Directions Only(Direction direction) {
  Directions directions;
  directions[direction] = true;
  return directions;
}

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_DIRECTION_H_
