// The extents of a tensor, outermost first; a value type without heap memory, at most 6 dimensions.
//
// Every extent is >= 0. Sizes that come from files or flags go through `Shape::Make`, which refuses
// negative extents and products that do not fit 63 bits; the initializer-list constructor is for
// extents that the program itself computed.

#ifndef DTNN_TENSOR_SHAPE_H_
#define DTNN_TENSOR_SHAPE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace dtnn {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;  // rank 0: one element
  Shape(std::initializer_list<int64_t> extents);
  static absl::StatusOr<Shape> Make(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  std::span<const int64_t> extents() const { return {extents_.data(), size_t(rank_)}; }

  // The product of all extents; 1 for rank 0.
  int64_t NumElements() const;

  // This shape with `extent` in front: Shape{28, 28, 1}.Prepend(64) is (64, 28, 28, 1).
  Shape Prepend(int64_t extent) const;
  // This shape without its first axis: the shape of one sample of a batch.
  Shape DropFirst() const;

  // As a Python tuple, the way tables and errors print it: "(28, 28, 1)", "(128,)", "()".
  std::string ToString() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<int64_t, kMaxRank> extents_ = {};  // unused ones stay 0, so == may compare all
  int rank_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_SHAPE_H_
