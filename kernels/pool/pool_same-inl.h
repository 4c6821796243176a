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
#include <iterator>
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
// Small planes go there together, a blank row between them: what is stored was stored a while
// before it is loaded at other offsets, which the processor would wait for.
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
    if (pass_.average()) {
      ForEachBand(
          begin, end, [&] { CountElements(false); },
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { SumsOfRows(plane, slot); },
          [](int64_t) {},
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { Means(plane, slot); });
    } else {
      ForEachBand(
          begin, end, [&] { BlankForMaxima(); },
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { MaximaOfRows(plane, slot); },
          [](int64_t) {},
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { Maxima(plane, slot); });
    }
  }
  void Backward(int64_t begin, int64_t end) {
    if (pass_.average()) {
      ForEachBand(
          begin, end, [&] { CountElements(true); },
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { SharesOfRows(plane, slot); },
          [](int64_t) {},
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { MeanGradients(plane, slot); });
    } else {
      ForEachBand(
          begin, end, [&] { std::fill_n(*rows_, std::size(rows_) * std::size(*rows_), T(0)); },
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { LoadGradients(plane, slot); },
          [&](int64_t slot) HWY_ATTR { GradientsOfRows(slot); },
          [&](const Plane<T>& plane, int64_t slot) HWY_ATTR { MaxGradients(plane, slot); });
    }
  }

 private:
  static constexpr int64_t kMost = 8192 / sizeof(T);
  static constexpr int64_t kTogether = kMost / 4;  // the elements of small planes
  static constexpr int64_t kSpace = HWY_MAX_BYTES / sizeof(T);

  // Fills the scratch from each plane, changes it, then uses it. A band of all planes after the
  // other, because they share what `prepare` leaves beside the zeros.
  template <class Prepare, class Fill, class Change, class Use>
  HWY_INLINE void ForEachBand(int64_t begin, int64_t end, const Prepare& prepare, const Fill& fill,
                              const Change& change, const Use& use) {
    const int64_t rows = kMost / width_ - 2, slot = (height_ + 1) * width_;
    const int64_t slots = std::max<int64_t>(1, (kTogether - width_) / slot);
    for (first_ = 0; first_ < height_; first_ = end_) {
      end_ = std::min(height_, first_ + rows);
      from_ = std::max<int64_t>(0, first_ - 1);
      to_ = std::min(height_, end_ + 1);
      std::fill(std::begin(values_), std::end(values_), T(0));
      std::fill(std::begin(numbers_), std::end(numbers_), T(0));
      prepare();
      for (int64_t number = begin; number < end; number += slots) {
        const int64_t planes = std::min(slots, end - number);
        for (int64_t i = 0; i < planes; ++i) fill(Plane<T>(pass_, number + i), i * slot);
        for (int64_t i = 0; i < planes; ++i) change(i * slot);
        for (int64_t i = 0; i < planes; ++i) use(Plane<T>(pass_, number + i), i * slot);
      }
    }
  }

  // The elements of the windows of rows [from_, to_), or one divided by them.
  void CountElements(bool inverse) {
    for (int64_t row = from_; row < to_; ++row) {
      const T rows = T(1 + (row > 0) + (row + 1 < height_));
      T* to = At(elements_, row);
      for (int64_t i = 0; i < width_; ++i) {
        const T count = rows * T(1 + (i > 0) + (i + 1 < width_));
        to[i] = inverse ? 1 / count : count;
      }
    }
  }

  // The row above a plane only wins where all are as small as they can be, under the number of the
  // first element in the row below it.
  void BlankForMaxima() {
    std::fill(std::begin(values_), std::end(values_), -std::numeric_limits<T>::infinity());
    for (int64_t i = 0; i + width_ <= kMost; i += width_) {
      std::fill_n(numbers_ + kSpace + i, width_, T(3));
      numbers_[kSpace + i] = T(4);
    }
  }

  // Where a row lies in a scratch, with space before the first and behind the last for neighbours.
  T* At(T* scratch, int64_t row) const { return scratch + kSpace + (row - first_ + 1) * width_; }
  int64_t inputs() const { return (to_ - from_) * width_; }
  int64_t outputs() const { return (end_ - first_) * width_; }

  template <class Access>
  HWY_INLINE auto HasLeft(const Access& access, int64_t i) const {
    return hn::Gt(access.Load(before_ + i), hn::Zero(access.d));
  }
  template <class Access>
  HWY_INLINE auto HasRight(const Access& access, int64_t i) const {
    return hn::Gt(access.Load(after_ + i), hn::Zero(access.d));
  }

  // Maxima of three neighbours in a row, and which it is.
  HWY_INLINE void MaximaOfRows(const Plane<T>& plane, int64_t slot) {
    const T* x = plane.in + from_ * width_;
    T *values = At(values_, from_) + slot, *numbers = At(numbers_, from_) + slot;
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      const auto has_left = HasLeft(access, i), has_right = HasRight(access, i);
      const auto left = LoadWhere(has_left, d, x + i - 1);
      const auto middle = access.Load(x + i);
      const auto right = LoadWhere(has_right, d, x + i + 1);
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

  HWY_INLINE void Maxima(const Plane<T>& plane, int64_t slot) {
    const T *values = At(values_, first_) + slot, *numbers = At(numbers_, first_) + slot;
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

  HWY_INLINE void SumsOfRows(const Plane<T>& plane, int64_t slot) {
    const T* x = plane.in + from_ * width_;
    T* sums = At(values_, from_) + slot;
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      const auto left = LoadWhere(HasLeft(access, i), d, x + i - 1);
      const auto right = LoadWhere(HasRight(access, i), d, x + i + 1);
      access.Store(hn::Add(hn::Add(left, access.Load(x + i)), right), sums + i);
    });
  }

  template <class Access>
  HWY_INLINE auto SumOfColumn(const Access& access, const T* sums) const {
    const auto two = hn::Add(access.Load(sums - width_), access.Load(sums));
    return hn::Add(two, access.Load(sums + width_));
  }

  HWY_INLINE void Means(const Plane<T>& plane, int64_t slot) {
    const T *sums = At(values_, first_) + slot, *elements = At(elements_, first_);
    T* y = plane.out + first_ * width_;
    ForEachVector<T>(outputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto sum = SumOfColumn(access, sums + i);
      access.Store(hn::Div(sum, access.Load(elements + i)), y + i);
    });
  }

  HWY_INLINE void SharesOfRows(const Plane<T>& plane, int64_t slot) {
    const T *dy = plane.out + from_ * width_, *inverse = At(elements_, from_);
    T* sums = At(values_, from_) + slot;
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      const auto left = LoadWhere(HasLeft(access, i), d, dy + i - 1);
      const auto right = LoadWhere(HasRight(access, i), d, dy + i + 1);
      auto sum = hn::Mul(left, access.Load(inverse + i - 1));
      sum = hn::MulAdd(access.Load(dy + i), access.Load(inverse + i), sum);
      access.Store(hn::MulAdd(right, access.Load(inverse + i + 1), sum), sums + i);
    });
  }

  HWY_INLINE void MeanGradients(const Plane<T>& plane, int64_t slot) {
    const T* sums = At(values_, first_) + slot;
    T* dx = plane.in + first_ * width_;
    ForEachVector<T>(outputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto sum = SumOfColumn(access, sums + i);
      access.Store(pass_.accumulate ? hn::Add(access.Load(dx + i), sum) : sum, dx + i);
    });
  }

  HWY_INLINE void LoadGradients(const Plane<T>& plane, int64_t slot) {
    const uint8_t* winners =
        static_cast<const uint8_t*>(pass_.winners) + plane.winners + from_ * width_;
    const T* dy = plane.out + from_ * width_;
    T *gradients = At(values_, from_) + slot, *taps = At(numbers_, from_) + slot;
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      access.Store(access.Load(dy + i), gradients + i);
      access.Store(LoadWinners<uint8_t>(access, winners, i), taps + i);
    });
  }

  // What a row of outputs gives to the rows of inputs above it, in it and below it. A winner never
  // lies beside its row or plane: neighbours that wrap around do not win here.
  HWY_INLINE void GradientsOfRows(int64_t slot) {
    const T *gradients = At(values_, from_) + slot, *taps = At(numbers_, from_) + slot;
    T *above = At(rows_[0], from_) + slot, *same = At(rows_[1], from_) + slot;
    T* below = At(rows_[2], from_) + slot;
    ForEachVector<T>(inputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto d = access.d;
      const auto left = access.Load(gradients + i - 1), left_tap = access.Load(taps + i - 1);
      const auto middle = access.Load(gradients + i), middle_tap = access.Load(taps + i);
      const auto right = access.Load(gradients + i + 1), right_tap = access.Load(taps + i + 1);
      const auto give = [&](T first, T* to) HWY_ATTR {
        const auto won = [&](auto tap, T number, auto gradient) HWY_ATTR {
          return hn::IfThenElseZero(hn::Eq(tap, hn::Set(d, number)), gradient);
        };
        const auto two = hn::Add(won(right_tap, first, right), won(middle_tap, first + 1, middle));
        access.Store(hn::Add(two, won(left_tap, first + 2, left)), to + i);
      };
      give(0, above);
      give(3, same);
      give(6, below);
    });
  }

  HWY_INLINE void MaxGradients(const Plane<T>& plane, int64_t slot) {
    const T* from_below = At(rows_[0], first_) + slot + width_;
    const T* from_same = At(rows_[1], first_) + slot;
    const T* from_above = At(rows_[2], first_) + slot - width_;
    T* dx = plane.in + first_ * width_;
    ForEachVector<T>(outputs(), [&](const auto& access, int64_t i) HWY_ATTR {
      const auto two = hn::Add(access.Load(from_above + i), access.Load(from_same + i));
      const auto sum = hn::Add(two, access.Load(from_below + i));
      access.Store(pass_.accumulate ? hn::Add(access.Load(dx + i), sum) : sum, dx + i);
    });
  }

  const PoolPass& pass_;
  const int64_t height_, width_;
  // Outputs are rows [first_, end_) of a plane, from inputs [from_, to_).
  int64_t first_ = 0, end_ = 0, from_ = 0, to_ = 0;
  HWY_ALIGN T before_[kMost], after_[kMost];  // elements of its row before and behind each
  HWY_ALIGN T values_[kMost + 2 * kSpace], numbers_[kMost + 2 * kSpace];
  HWY_ALIGN T elements_[kMost + 2 * kSpace] = {};
  HWY_ALIGN T rows_[3][kMost + 2 * kSpace];
};
#endif  // DTNN_MASKED_MEMORY

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_POOL_SAME_INL_H_
