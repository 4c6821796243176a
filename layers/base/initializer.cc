#include "layers/base/initializer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

bool IsConstant(InitializerKind kind) {
  return kind == InitializerKind::kZeros || kind == InitializerKind::kOnes;
}

bool IsNormal(InitializerKind kind) {
  return kind == InitializerKind::kGlorotNormal || kind == InitializerKind::kHeNormal ||
         kind == InitializerKind::kLecunNormal;
}

// The standard deviation that remains of a standard normal cut off at -2 and 2, and the probability
// that a standard normal lies between.
constexpr double kTruncatedDeviation = 0.87962566103423978;
constexpr double kBetween = 0.95449973610364159;

// The standard normal quantile of (1 + c) / 2 for |c| <= kBetween, to 12 digits. The quantile is c
// times a function of w = -log(1 - c^2) without singularities near [0, 2.42], of which this is the
// nearest polynomial (the variable is Giles', "Approximating the erfinv function", 2012).
double Quantile(double c) {
  constexpr double kNearest[] = {
      2.0053603805468203e-10, -6.3171298986279771e-9,  6.0156421384485056e-8,
      -1.1726642536188051e-7, -1.3344088921539486e-6,  2.7584463635192568e-6,
      6.5983729178759402e-5,  -0.00018110804094633544, -0.0033023255642836263,
      0.01633323526373803,    0.32811687391393708,     1.2533141373151247};
  const double w = -std::log1p(-c * c);
  double p = 0;
  for (const double coefficient : kNearest) p = p * w + coefficient;
  return c * p;
}

}  // namespace

std::string_view Name(InitializerKind kind) {
  switch (kind) {
    case InitializerKind::kZeros:
      return "zeros";
    case InitializerKind::kOnes:
      return "ones";
    case InitializerKind::kGlorotUniform:
      return "glorot_uniform";
    case InitializerKind::kHeUniform:
      return "he_uniform";
    case InitializerKind::kGlorotNormal:
      return "glorot_normal";
    case InitializerKind::kHeNormal:
      return "he_normal";
    case InitializerKind::kLecunUniform:
      return "lecun_uniform";
    case InitializerKind::kLecunNormal:
      return "lecun_normal";
  }
  return "unknown";
}

std::optional<InitializerKind> ParseInitializerKind(std::string_view name) {
  for (const InitializerKind kind : kInitializerKinds) {
    if (Name(kind) == name) return kind;
  }
  return std::nullopt;
}

double Initializer::Variance() const {
  const auto one_over = [](double fan) { return 1 / std::max(1.0, fan); };
  switch (kind) {
    case InitializerKind::kZeros:
    case InitializerKind::kOnes:
      return 0;
    case InitializerKind::kGlorotUniform:
    case InitializerKind::kGlorotNormal:
      return one_over((double(fan_in) + double(fan_out)) / 2);
    case InitializerKind::kHeUniform:
    case InitializerKind::kHeNormal:
      return 2 * one_over(double(fan_in));
    case InitializerKind::kLecunUniform:
    case InitializerKind::kLecunNormal:
      return one_over(double(fan_in));
  }
  return 0;
}

double Initializer::Limit() const {
  if (IsConstant(kind)) return kind == InitializerKind::kOnes ? times : 0;
  if (IsNormal(kind)) return 2 * std::sqrt(Variance()) / kTruncatedDeviation;
  return std::sqrt(3 * Variance());
}

void Initializer::Fill(const Tensor& tensor, const Philox& random) const {
  DispatchFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = tensor.data<T>();
    const int64_t count = tensor.num_elements();
    const double limit = Limit();
    if (IsConstant(kind)) {
      std::fill_n(values, count, T(limit));
      return;
    }
    const bool normal = IsNormal(kind);
    // Four neighbours share a block: drawing them one by one would compute it four times.
    ParallelFor(0, (count + 3) / 4, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const std::array<uint32_t, 4> bits = random.Block(uint64_t(block));
        const int64_t first = 4 * block, present = std::min<int64_t>(4, count - first);
        for (int64_t i = 0; i < present; ++i) {
          const double u = 2 * Philox::ToUnit(bits[size_t(i)]) - 1;
          // The inverse of the distribution function; half a step of u keeps 0 in the middle.
          values[first + i] =
              T(normal ? limit / 2 * Quantile(kBetween * (u + 0x1p-24)) : limit * u);
        }
      }
    });
  });
}

}  // namespace dtnn
