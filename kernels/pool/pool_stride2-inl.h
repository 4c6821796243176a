// Forward pooling of planes with windows of three columns and a horizontal stride of 2, the usual
// pooling of an image network's first layers: the first two columns of a vector of windows are the
// even and the odd ones of the elements of two vectors, the third are the even ones two elements
// on, and masks keep the padding out. Included once per target.

#if defined(DTNN_KERNELS_POOL_POOL_STRIDE2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_POOL_STRIDE2_INL_H_
#undef DTNN_KERNELS_POOL_POOL_STRIDE2_INL_H_
#else
#define DTNN_KERNELS_POOL_POOL_STRIDE2_INL_H_
#endif

#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/pool_2x2-inl.h"
#include "kernels/pool/pool_cpu.h"
#include "kernels/pool/pool_dense-inl.h"
#include "kernels/pool/winners-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

#if DTNN_MASKED_MEMORY
// One vector of windows, the first of them `output`, in any row of a plane.
template <class D>
class ThreeColumns {
 public:
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;

  HWY_INLINE ThreeColumns(D d, const PoolSpec& s, int64_t output) : d_(d) {
    const int64_t lanes = int64_t(hn::Lanes(d)), first = 2 * output - s.padding.horizontal;
    const auto inside = [&](int64_t at) HWY_ATTR { return LanesInside(d, at, s.width); };
    low_ = inside(first);
    high_ = inside(first + lanes);
    low2_ = inside(first + 2);
    high2_ = inside(first + 2 + lanes);
    const V ones = hn::Set(d, T(1)), zeros = hn::Zero(d);
    V unused, left, middle, right;
    const auto ones_in = [&](auto mask) HWY_ATTR { return hn::IfThenElse(mask, ones, zeros); };
    ElementPairs::Split(d, ones_in(low_), ones_in(high_), left, middle);
    ElementPairs::Split(d, ones_in(low2_), ones_in(high2_), right, unused);
    left_ = hn::Gt(left, zeros);
    middle_ = hn::Gt(middle, zeros);
    right_ = hn::Gt(right, zeros);
    count_ = hn::Add(hn::Add(left, middle), right);
    first_ = hn::IfThenElse(left_, zeros, hn::IfThenElse(middle_, ones, hn::Add(ones, ones)));
  }

  // The first largest of a row of three, and its column; `x` is the first lane's first one.
  HWY_INLINE void Max(const T* x, V& best, V& column) const {
    V left, middle, right;
    Load(x, left, middle, right);
    // The first element inside the row wins where all are as small as they can be.
    best = hn::IfThenElse(left_, left, hn::Set(d_, -std::numeric_limits<T>::infinity()));
    column = first_;
    Consider(middle_, middle, hn::Set(d_, T(1)), best, column);
    Consider(right_, right, hn::Set(d_, T(2)), best, column);
  }
  HWY_INLINE static void Consider(V v, V number, V& best, V& best_number) {
    const auto better = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
    best = hn::IfThenElse(better, v, best);
    best_number = hn::IfThenElse(better, number, best_number);
  }

  HWY_INLINE V Sum(const T* x) const {
    V left, middle, right;
    Load(x, left, middle, right);
    return hn::Add(hn::Add(left, middle), right);
  }
  HWY_INLINE V count() const { return count_; }  // of the columns inside the row

 private:
  // Zeros outside the row.
  HWY_INLINE void Load(const T* x, V& left, V& middle, V& right) const {
    const size_t lanes = hn::Lanes(d_);
    V unused;
    ElementPairs::Split(d_, LoadWhere(low_, d_, x), LoadWhere(high_, d_, x + lanes), left, middle);
    ElementPairs::Split(d_, LoadWhere(low2_, d_, x + 2), LoadWhere(high2_, d_, x + 2 + lanes),
                        right, unused);
  }
  HWY_INLINE static void Consider(hn::Mask<D> inside, V v, V number, V& best, V& best_number) {
    const auto better = hn::And(inside, hn::Or(hn::Gt(v, best), hn::IsNaN(v)));
    best = hn::IfThenElse(better, v, best);
    best_number = hn::IfThenElse(better, number, best_number);
  }

  D d_;
  hn::Mask<D> low_, high_, low2_, high2_;  // of the four loads
  hn::Mask<D> left_, middle_, right_;
  V first_, count_;
};

inline bool ServesThreeColumns(const PoolPass& pass) {
  const PoolSpec& s = pass.spec;
  return s.window.horizontal == 3 && s.stride.horizontal == 2 && s.dilation.horizontal == 1 &&
         s.WinnerDType() == DType::kUint8;
}

// The outputs of one plane from column i on. Windows that lie two rows apart share one: what it
// yielded is kept.
template <typename T, class Access, class Columns>
HWY_INLINE void MaxThreeColumns(const PoolPass& pass, const Access& access, const Columns& columns,
                                const Plane<T>& plane, int64_t i) {
  const PoolSpec& s = pass.spec;
  const auto d = access.d;
  const T* column = plane.in + 2 * i - s.padding.horizontal;
  auto value = hn::Zero(d), number = value, best = value, winner = value;
  int64_t known = -1;  // the row that `value` and `number` are of
  for (int64_t oh = 0; oh < pass.out_height; ++oh) {
    const Taps rows = RowTaps(s, oh);
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
      const int64_t row = rows.origin + kh * s.dilation.vertical;
      if (row != known) columns.Max(column + row * s.width, value, number);
      known = row;
      const auto in_window = hn::Add(number, hn::Set(d, T(3 * kh)));
      if (kh == rows.begin) {
        best = value;
        winner = in_window;
      } else {
        columns.Consider(value, in_window, best, winner);
      }
    }
    const int64_t at = oh * pass.out_width + i;
    access.Store(best, plane.out + at);
    if (pass.winners != nullptr) {
      StoreWinners<uint8_t>(access, winner, pass.winners, plane.winners + at);
    }
  }
}

template <typename T, class Access, class Columns>
HWY_INLINE void MeanThreeColumns(const PoolPass& pass, const Access& access, const Columns& columns,
                                 const Plane<T>& plane, int64_t i) {
  const PoolSpec& s = pass.spec;
  const auto d = access.d;
  const T* column = plane.in + 2 * i - s.padding.horizontal;
  for (int64_t oh = 0; oh < pass.out_height; ++oh) {
    const Taps rows = RowTaps(s, oh);
    auto sum = hn::Zero(d);
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
      const int64_t row = rows.origin + kh * s.dilation.vertical;
      sum = hn::Add(sum, columns.Sum(column + row * s.width));
    }
    const auto elements = hn::Mul(columns.count(), hn::Set(d, T(rows.count())));
    access.Store(hn::Div(sum, elements), plane.out + oh * pass.out_width + i);
  }
}

// Planes [begin, end), a column of vectors after the other.
template <typename T>
void ThreeColumnsOfPlanes(const PoolPass& pass, int64_t begin, int64_t end) {
  ForEachVector<T>(pass.out_width, [&](const auto& access, int64_t i) HWY_ATTR {
    const ThreeColumns<std::decay_t<decltype(access.d)>> columns(access.d, pass.spec, i);
    for (int64_t number = begin; number < end; ++number) {
      const Plane<T> plane(pass, number);
      pass.average() ? MeanThreeColumns(pass, access, columns, plane, i)
                     : MaxThreeColumns(pass, access, columns, plane, i);
    }
  });
}

// As many planes together as stay in the first cache from one column of vectors to the next.
template <typename T>
void ForwardThreeColumns(const PoolPass& pass, int64_t begin, int64_t end) {
  constexpr int64_t kTogether = 16384 / sizeof(T);
  const int64_t planes = std::max<int64_t>(1, kTogether / (pass.spec.height * pass.spec.width));
  for (; begin < end; begin += planes) {
    ThreeColumnsOfPlanes<T>(pass, begin, std::min(end, begin + planes));
  }
}
#endif  // DTNN_MASKED_MEMORY

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_POOL_STRIDE2_INL_H_
