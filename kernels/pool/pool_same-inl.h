// 3x3 windows with stride 1 and padding 1 on planes: outputs lie where inputs do, so that a plane
// is one run of elements and no vector ends at the end of a row. Rows of three first, which go to a
// scratch that stays in cache, then columns of three of those. Included once per target.

#if defined(DTNN_KERNELS_POOL_POOL_SAME_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_POOL_SAME_INL_H_
#undef DTNN_KERNELS_POOL_POOL_SAME_INL_H_
#else
#define DTNN_KERNELS_POOL_POOL_SAME_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/pool_cpu.h"
#include "kernels/pool/winners-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

#if DTNN_MASKED_MEMORY
// A band is as many rows of a plane as the scratch holds, with one more row above and below them.
template <typename T>
class SamePlanes {
 public:
  static bool Serves(const PoolPass& pass) {
    return pass.Is3x3() && pass.spec.padding == Pair(1) && 3 * pass.spec.width <= kMost;
  }
  explicit SamePlanes(const PoolPass& pass)
      : pass_(pass), height_(pass.spec.height), width_(pass.spec.width) {
    for (int64_t row = 0; row < std::min(height_, kMost / width_); ++row) {
      for (int64_t column = 0; column < width_; ++column) {
        before_[row * width_ + column] = T(column);
        after_[row * width_ + column] = T(width_ - 1 - column);
      }
    }
  }

  void Forward(int64_t begin, int64_t end) {
    ForEachBand(begin, end, [&](const Plane<T>& plane) HWY_ATTR {
      pass_.average() ? Means(plane) : Maxima(plane);
    });
  }
  void Backward(int64_t begin, int64_t end) {
    ForEachBand(begin, end, [&](const Plane<T>& plane) HWY_ATTR {
      pass_.average() ? MeanGradients(plane) : MaxGradients(plane);
    });
  }

 private:
  static constexpr int64_t kMost = 8192 / sizeof(T);
  static constexpr int64_t kSpace = HWY_MAX_BYTES / sizeof(T);

  // A band of all planes after the other, because they share its counts.
  template <class F>
  HWY_INLINE void ForEachBand(int64_t begin, int64_t end, const F& f) {
    const int64_t rows = kMost / width_ - 2;
    for (first_ = 0; first_ < height_; first_ = end_) {
      end_ = std::min(height_, first_ + rows);
      from_ = std::max<int64_t>(0, first_ - 1);
      to_ = std::min(height_, end_ + 1);
      if (pass_.average()) Count();
      for (int64_t number = begin; number < end; ++number) f(Plane<T>(pass_, number));
    }
  }

  // The elements of the windows of rows [from_, to_).
  void Count() {
    for (int64_t row = from_; row < to_; ++row) {
      const T rows = T(1 + (row > 0) + (row + 1 < height_));
      T* to = At(elements_, row);
      for (int64_t i = 0; i < width_; ++i) to[i] = rows * T(1 + (i > 0) + (i + 1 < width_));
    }
  }

  // Where a row lies in a scratch, with space before the first and behind the last for neighbours.
  T* At(T* scratch, int64_t row) const { return scratch + kSpace + (row - first_ + 1) * width_; }
  int64_t inputs() const { return (to_ - from_) * width_; }
  int64_t outputs() const { return (end_ - first_) * width_; }
  bool above() const { return from_ < first_; }  // else the band begins with the plane
  bool below() const { return to_ > end_; }

  // Zeros for the rows that the plane does not have, and in the space on both sides.
  void ClearAround(T* scratch) const {
    T* begin = At(scratch, from_);
    T* all = At(scratch, first_ - 1) - kSpace;
    std::fill(all, begin, T(0));
    std::fill(begin + inputs(), At(scratch, end_ + 1) + kSpace, T(0));
  }

  template <class Access>
  HWY_INLINE auto HasLeft(const Access& access, int64_t i) const {
    return hn::Gt(access.Load(before_ + i), hn::Zero(access.d));
  }
  template <class Access>
  HWY_INLINE auto HasRight(const Access& access, int64_t i) const {
    return hn::Gt(access.Load(after_ + i), hn::Zero(access.d));
  }

  // Maxima of three neighbours in a row, and which it is.
  HWY_INLINE void MaximaOfRows(const T* x) {
    T *values = At(values_, from_), *numbers = At(numbers_, from_);
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      const auto has_left = HasLeft(access, i), has_right = HasRight(access, i);
      const auto left = hn::MaskedLoad(has_left, d, x + i - 1);
      const auto middle = access.Load(x + i);
      const auto right = hn::MaskedLoad(has_right, d, x + i + 1);
      auto better = hn::Or(hn::Not(has_left), hn::Or(hn::Gt(middle, left), hn::IsNaN(middle)));
      auto best = hn::IfThenElse(better, middle, left);
      auto number = hn::IfThenElseZero(better, hn::Set(d, T(1)));
      better = hn::And(has_right, hn::Or(hn::Gt(right, best), hn::IsNaN(right)));
      best = hn::IfThenElse(better, right, best);
      number = hn::IfThenElse(better, hn::Set(d, T(2)), number);
      access.Store(best, values + i);
      access.Store(number, numbers + i);
    });
  }

  void Maxima(const Plane<T>& plane) {
    MaximaOfRows(plane.in + from_ * width_);
    const T *values = At(values_, first_), *numbers = At(numbers_, first_);
    if (!above()) {  // a row like the first, which then cannot be better than it
      T *no_values = At(values_, first_ - 1), *no_numbers = At(numbers_, first_ - 1);
      for (int64_t i = 0; i < width_; ++i) {
        no_values[i] = values[i];
        no_numbers[i] = numbers[i] + 3;
      }
    }
    if (!below()) {
      std::fill_n(At(values_, end_), width_, -std::numeric_limits<T>::infinity());
    }
    T* y = plane.out + first_ * width_;
    uint8_t* winners = static_cast<uint8_t*>(pass_.winners);
    if (winners != nullptr) winners += plane.winners + first_ * width_;
    ForEachVector<T>(outputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      auto best = access.Load(values + i - width_), number = access.Load(numbers + i - width_);
      const auto consider = [&](int64_t at, T row) HWY_ATTR {
        const auto v = access.Load(values + at);
        const auto better = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
        best = hn::IfThenElse(better, v, best);
        const auto v_number = hn::Add(access.Load(numbers + at), hn::Set(d, row));
        number = hn::IfThenElse(better, v_number, number);
      };
      consider(i, 3);
      consider(i + width_, 6);
      access.Store(best, y + i);
      if (winners != nullptr) StoreWinners<uint8_t>(access, number, winners, i);
    });
  }

  void Means(const Plane<T>& plane) {
    const T* x = plane.in + from_ * width_;
    T* values = At(values_, from_);
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      const auto left = hn::MaskedLoad(HasLeft(access, i), d, x + i - 1);
      const auto right = hn::MaskedLoad(HasRight(access, i), d, x + i + 1);
      access.Store(hn::Add(hn::Add(left, access.Load(x + i)), right), values + i);
    });
    ClearAround(values_);
    const T *sums = At(values_, first_), *elements = At(elements_, first_);
    T* y = plane.out + first_ * width_;
    ForEachVector<T>(outputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto sum = SumOfColumn(access, sums + i);
      access.Store(hn::Div(sum, access.Load(elements + i)), y + i);
    });
  }

  template <class Access>
  HWY_INLINE auto SumOfColumn(const Access& access, const T* sums) const {
    const auto two = hn::Add(access.Load(sums - width_), access.Load(sums));
    return hn::Add(two, access.Load(sums + width_));
  }

  void MeanGradients(const Plane<T>& plane) {
    const T *dy = plane.out + from_ * width_, *elements = At(elements_, from_);
    T *shares = At(values_, from_), *rows = At(numbers_, from_);
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      access.Store(hn::Div(access.Load(dy + i), access.Load(elements + i)), shares + i);
    });
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      const auto left = hn::MaskedLoad(HasLeft(access, i), d, shares + i - 1);
      const auto right = hn::MaskedLoad(HasRight(access, i), d, shares + i + 1);
      access.Store(hn::Add(hn::Add(left, access.Load(shares + i)), right), rows + i);
    });
    ClearAround(numbers_);
    const T* sums = At(numbers_, first_);
    T* dx = plane.in + first_ * width_;
    ForEachVector<T>(outputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto sum = SumOfColumn(access, sums + i);
      access.Store(pass_.accumulate ? hn::Add(access.Load(dx + i), sum) : sum, dx + i);
    });
  }

  // A winner never lies beside its row or plane: neighbours that wrap around do not win here.
  void MaxGradients(const Plane<T>& plane) {
    const uint8_t* winners =
        static_cast<const uint8_t*>(pass_.winners) + plane.winners + from_ * width_;
    const T* dy = plane.out + from_ * width_;
    T *gradients = At(values_, from_), *taps = At(numbers_, from_);
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      access.Store(access.Load(dy + i), gradients + i);
      access.Store(LoadWinners<uint8_t>(access, winners, i), taps + i);
    });
    ClearAround(values_);
    ClearAround(numbers_);
    const T *gradient = At(values_, first_), *tap = At(numbers_, first_);
    T* dx = plane.in + first_ * width_;
    ForEachVector<T>(outputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      auto sum = pass_.accumulate ? access.Load(dx + i) : hn::Zero(d);
      const auto three = [&](int64_t at, T last) HWY_ATTR {
        for (int64_t k = -1; k <= 1; ++k) {
          const auto wins = hn::Eq(access.Load(tap + at + k), hn::Set(d, last - 1 - T(k)));
          sum = hn::Add(sum, hn::IfThenElseZero(wins, access.Load(gradient + at + k)));
        }
      };
      three(i - width_, 8);
      three(i, 5);
      three(i + width_, 2);
      access.Store(sum, dx + i);
    });
  }

  const PoolPass& pass_;
  const int64_t height_, width_;
  // Outputs are rows [first_, end_) of a plane, from inputs [from_, to_).
  int64_t first_ = 0, end_ = 0, from_ = 0, to_ = 0;
  HWY_ALIGN T before_[kMost], after_[kMost];  // elements of its row before and behind each
  HWY_ALIGN T values_[kMost + 2 * kSpace], numbers_[kMost + 2 * kSpace];
  HWY_ALIGN T elements_[kMost + 2 * kSpace];
};
#endif  // DTNN_MASKED_MEMORY

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_POOL_SAME_INL_H_
