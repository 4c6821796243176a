#include "comm/federation/aggregator/sums/plain_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "comm/federation/aggregator/attempt_numbers.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {

namespace {

constexpr size_t kBlock = 4096;  // numbers
constexpr int kFineBits = 45, kCoarseBits = 4;
// What is beyond its unit of 16 is less than 16, 2^49 fine units: so many are less than 2^62.
constexpr int kAddsPerCarry = 1 << 13;

// The nearest integer, of numbers below 2^51, in a form that compilers turn into SIMD: in this
// range doubles are the integers, and their bits count them.
constexpr double kMagic = 0x1.8p52;
int64_t Round(double x) {
  return std::bit_cast<int64_t>(x + kMagic) - std::bit_cast<int64_t>(kMagic);
}
int64_t ToFine(double x) { return Round(x * 0x1p45); }

bool SomeAreLarge(std::span<const float> values) {
  constexpr uint32_t kLarge = std::bit_cast<uint32_t>(16.0f);
  uint32_t large = 0;
  for (const float x : values) large |= (std::bit_cast<uint32_t>(x) & 0x7fffffff) >= kLarge ? 1 : 0;
  return large != 0;
}

}  // namespace

PlainSum::PlainSum(size_t values) : fine_(values), coarse_((values + kBlock - 1) / kBlock) {}

size_t PlainSum::BlockSize(size_t block) const {
  return std::min(kBlock, fine_.size() - block * kBlock);
}

void PlainSum::AddLarge(size_t block, std::span<const float> values) {
  coarse_[block].resize(values.size());
  int64_t* const coarse = coarse_[block].data();
  int64_t* const fine = fine_.data() + block * kBlock;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t units = Round(values[i] * 0x1p-4);
    coarse[i] += units;
    fine[i] += ToFine(double(values[i]) - 0x1p4 * double(units));  // exact: both are multiples
  }
}

void PlainSum::Add(std::span<const float> values) {
  if (++adds_ > kAddsPerCarry) Carry();
  ParallelFor(0, int64_t(coarse_.size()), 16, [&](int64_t begin, int64_t end) {
    for (auto block = size_t(begin); block < size_t(end); ++block) {
      const std::span<const float> of_block = values.subspan(block * kBlock, BlockSize(block));
      if (SomeAreLarge(of_block)) {
        AddLarge(block, of_block);
        continue;
      }
      int64_t* const fine = fine_.data() + block * kBlock;
      for (size_t i = 0; i < of_block.size(); ++i) fine[i] += ToFine(of_block[i]);
    }
  });
}

// Moves multiples of 16 from the fine units to the coarse ones, whatever is added.
void PlainSum::Carry() {
  adds_ = 1;
  for (size_t i = 0; i < fine_.size(); ++i) {
    std::vector<int64_t>& coarse = coarse_[i / kBlock];
    coarse.resize(BlockSize(i / kBlock));
    const int64_t units = fine_[i] >> (kFineBits + kCoarseBits);
    coarse[i % kBlock] += units;
    fine_[i] -= units << (kFineBits + kCoarseBits);
  }
}

std::vector<float> PlainSum::Mean(double divisor) const {
  std::vector<float> mean(fine_.size());
  ParallelFor(0, int64_t(mean.size()), 1 << 16, [&](int64_t begin, int64_t end) {
    for (auto i = size_t(begin); i < size_t(end); ++i) {
      const std::vector<int64_t>& coarse = coarse_[i / kBlock];
      const __int128 units = coarse.empty() ? 0 : coarse[i % kBlock];
      // The same double however the sum is divided between the two.
      const auto sum = double(units * (int64_t{1} << (kFineBits + kCoarseBits)) + fine_[i]);
      mean[i] = float(sum * 0x1p-45 / divisor);
    }
  });
  return mean;
}

absl::Status CheckUpdate(std::span<const float> values, double factor, std::span<const float> begin,
                         double max_norm) {
  if (!AreNumbersOfNetworks(values, factor)) {
    return absl::OutOfRangeError(StrCat("its update has numbers beyond ", kLargestNumber));
  }
  if (max_norm <= 0 || begin.size() > values.size()) return absl::OkStatus();
  double squares = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    const double d = values[i] / factor - begin[i];
    squares += d * d;
  }
  const double norm = std::sqrt(squares);
  if (norm <= max_norm) return absl::OkStatus();  // false for NaN
  return absl::OutOfRangeError(
      StrCat("its update has the norm ", norm, ", more than the ", max_norm, " that are allowed"));
}

}  // namespace dtnn::federation
