#include "kernels/conv/geometry/partial_sums.h"

#include <algorithm>

#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv {
namespace {

constexpr int64_t kMostParts = 16;
constexpr int64_t kMostBytes = 2 << 20;  // of all parts together
constexpr int64_t kLine = 64;            // bytes

}  // namespace

template <typename T>
PartialSums<T>::PartialSums(const Conv2dSpec& spec, int64_t pitch, int64_t least)
    : taps_(spec.kernel.vertical * spec.kernel.horizontal),
      channels_(spec.channels),
      filters_(spec.filters),
      pitch_(pitch) {
  const int64_t bytes = taps_ * channels_ * pitch_ * int64_t(sizeof(T));
  const int64_t pixels = spec.batch * spec.out_height() * spec.out_width();
  const int64_t most = std::min(kMostBytes / bytes, CeilDiv(pixels, least));
  parts_ = std::clamp<int64_t>(most, 1, kMostParts);
}

template <typename T>
size_t PartialSums<T>::bytes() const {
  const int64_t bytes = parts_ * (taps_ * channels_ + 1) * pitch_ * int64_t(sizeof(T));
  return size_t(RoundUp(bytes, kLine));
}

template <typename T>
T* PartialSums<T>::filter(std::byte* memory, int64_t part) const {
  return reinterpret_cast<T*>(memory) + part * taps_ * channels_ * pitch_;
}

template <typename T>
T* PartialSums<T>::bias(std::byte* memory, int64_t part) const {
  return filter(memory, parts_) + part * pitch_;
}

template <typename T>
void PartialSums<T>::Write(const typename FilterKernel<T>::Gradient& gradient,
                           const std::byte* memory) const {
  const Filter<T>& dfilter = gradient.dfilter;
  const T* const sums = reinterpret_cast<const T*>(memory);
  const int64_t size = taps_ * channels_ * pitch_;
  // Blocks whose lines are used up in either order of the filter.
  constexpr int64_t kBlock = 16;
  const int64_t blocks = CeilDiv(filters_, kBlock);
  const int64_t runs = CeilDiv(channels_, kBlock);
  const int64_t grain = 1 + 8192 / (kBlock * kBlock * taps_);
  ParallelFor(0, runs * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t f0 = item % blocks * kBlock, f1 = std::min(filters_, f0 + kBlock);
      const int64_t c0 = item / blocks * kBlock, c1 = std::min(channels_, c0 + kBlock);
      // Written out for a whole block of neighbours, which becomes vectors.
      const bool whole = dfilter.filter == 1 && f1 - f0 == kBlock;
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t tap = 0; tap < taps_; ++tap) {
          const T* from = sums + (tap * channels_ + c) * pitch_;
          T* to = dfilter.data + tap * dfilter.tap + c * dfilter.channel;
          T sum[kBlock] = {};
          if (whole) {
            if (gradient.accumulate) std::copy_n(to + f0, kBlock, sum);
            for (int64_t part = 0; part < parts_; ++part) {
              for (int64_t f = 0; f < kBlock; ++f) sum[f] += from[part * size + f0 + f];
            }
            std::copy_n(sum, kBlock, to + f0);
            continue;
          }
          if (gradient.accumulate) {
            for (int64_t f = f0; f < f1; ++f) sum[f - f0] = to[f * dfilter.filter];
          }
          for (int64_t part = 0; part < parts_; ++part) {
            for (int64_t f = f0; f < f1; ++f) sum[f - f0] += from[part * size + f];
          }
          for (int64_t f = f0; f < f1; ++f) to[f * dfilter.filter] = sum[f - f0];
        }
      }
    }
  });
  WriteBias(gradient, memory);
}

template <typename T>
void PartialSums<T>::WriteBias(const typename FilterKernel<T>::Gradient& gradient,
                               const std::byte* memory) const {
  T* const dbias = gradient.dbias;
  if (dbias == nullptr) return;
  const T* const sums = reinterpret_cast<const T*>(memory) + parts_ * taps_ * channels_ * pitch_;
  for (int64_t f = 0; f < filters_; ++f) {
    T sum = gradient.accumulate ? dbias[f] : T(0);
    for (int64_t part = 0; part < parts_; ++part) sum += sums[part * pitch_ + f];
    dbias[f] = sum;
  }
}

template class PartialSums<float>;
template class PartialSums<double>;

}  // namespace dtnn::conv
