#include "tensor/shape.h"

#include <cassert>

#include "absl/status/status.h"
#include "tensor/errors.h"

namespace dtnn {

Shape::Shape(std::initializer_list<int64_t> extents) : rank_(int(extents.size())) {
  assert(extents.size() <= kMaxRank);
  int axis = 0;
  for (int64_t extent : extents) extents_[axis++] = extent;
}

absl::StatusOr<Shape> Shape::Make(std::span<const int64_t> extents) {
  if (extents.size() > kMaxRank) {
    return InvalidArgument("a shape has at most ", int{kMaxRank}, " dimensions, not ",
                           extents.size());
  }
  Shape shape;
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent < 0) {
      return InvalidArgument("negative extent ", extent, " in a shape");
    }
    shape.extents_[shape.rank_++] = extent;
    // With a zero extent elsewhere the product is 0, but the others must be sane all the same.
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product)) {
      return absl::InvalidArgumentError("a shape's number of elements exceeds 63 bits");
    }
  }
  return shape;
}

int64_t Shape::NumElements() const {
  int64_t product = 1;
  for (int64_t extent : extents()) product *= extent;
  return product;
}

Shape Shape::Prepend(int64_t extent) const {
  assert(rank_ < kMaxRank);
  Shape shape;
  shape.rank_ = rank_ + 1;
  shape.extents_[0] = extent;
  for (int axis = 0; axis < rank_; ++axis) shape.extents_[axis + 1] = extents_[axis];
  return shape;
}

Shape Shape::DropFirst() const {
  assert(rank_ > 0);
  Shape shape;
  shape.rank_ = rank_ - 1;
  for (int axis = 1; axis < rank_; ++axis) shape.extents_[axis - 1] = extents_[axis];
  return shape;
}

std::string Shape::ToString() const {
  std::string text = "(";
  for (int axis = 0; axis < rank_; ++axis) {
    StrAppend(&text, axis > 0 ? ", " : "", extents_[axis]);
  }
  return text + (rank_ == 1 ? ",)" : ")");
}

}  // namespace dtnn
