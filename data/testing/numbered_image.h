// Images for tests of transforms, in either format and type.

#ifndef DTNN_DATA_TESTING_NUMBERED_IMAGE_H_
#define DTNN_DATA_TESTING_NUMBERED_IMAGE_H_

#include <cstdint>
#include <vector>

#include "data/transforms/transform.h"
#include "tensor/format.h"

namespace dtnn::testing {

// Says where it was; none is 0.
inline double NumberAt(int64_t c, int64_t y, int64_t x) {
  return double(10000 * (c + 1) + 100 * y + x);
}

// With room for a transform to work.
template <typename T>
class TestImage {
 public:
  // value(c, y, x)
  template <typename Value = double (*)(int64_t, int64_t, int64_t)>
  TestImage(const ImageExtents& extents, TensorFormat format, Value value = NumberAt)
      : extents_(extents),
        format_(format),
        values_(size_t(extents.channels * extents.height * extents.width)),
        scratch_(values_.size(), T(-7)) {
    ForEach([&](int64_t c, int64_t y, int64_t x) { values_[Index(c, y, x)] = T(value(c, y, x)); });
  }

  T At(int64_t c, int64_t y, int64_t x) const { return values_[Index(c, y, x)]; }
  const std::vector<T>& values() const { return values_; }
  SampleImage<T> image() {
    return {.values = values_.data(),
            .scratch = scratch_.data(),
            .extents = extents_,
            .format = format_};
  }
  // visit(c, y, x)
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (int64_t c = 0; c < extents_.channels; ++c) {
      for (int64_t y = 0; y < extents_.height; ++y) {
        for (int64_t x = 0; x < extents_.width; ++x) visit(c, y, x);
      }
    }
  }

 private:
  size_t Index(int64_t c, int64_t y, int64_t x) const {
    return size_t(format_ == TensorFormat::kNHWC ? (y * extents_.width + x) * extents_.channels + c
                                                 : (c * extents_.height + y) * extents_.width + x);
  }

  ImageExtents extents_;
  TensorFormat format_;
  std::vector<T> values_, scratch_;
};

// test(T(), format) for both types and formats.
template <typename Test>
void InTypesAndFormats(Test test) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    test(float{}, format);
    test(double{}, format);
  }
}

// Sizes that hurt.
inline const std::vector<ImageExtents>& TestExtents() {
  static const std::vector<ImageExtents> extents = {{1, 1, 1}, {4, 4, 3}, {5, 7, 3},
                                                    {6, 5, 1}, {3, 8, 2}, {9, 2, 5}};
  return extents;
}

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_NUMBERED_IMAGE_H_
