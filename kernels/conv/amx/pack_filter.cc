#include "kernels/conv/amx/pack_filter.h"

#include <algorithm>

#include "kernels/amx/packing.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

// Elements of the depth and output channels that are packed at a time: lines that follow each other
// are read from few pages.
constexpr int64_t kRows = 64, kColumns = 256;
constexpr Bfloat16 kZeros[kColumns] = {};

class Packing {
 public:
  Packing(const TilePlan& plan, const TilePlan::Part& part, const Filter<const Bfloat16>& filter,
          bool in_vectors, Bfloat16* derived)
      : plan_(plan),
        part_(part),
        filter_(filter),
        depth_step_(plan.backward() ? filter.filter : filter.channel),
        out_step_(plan.backward() ? filter.channel : filter.filter),
        in_vectors_(in_vectors),
        to_(derived + part.derived) {}

  void Run() const {
    const auto runs = int64_t(part_.runs.size());
    if (out_step_ == 1) {
      const int64_t rows = CeilDiv(length(), kRows);
      const int64_t columns = CeilDiv(plan_.out_channels(), kColumns);
      ParallelFor(0, runs * rows * columns, 1, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
          PackRows(item / columns / rows, item / columns % rows * kRows, item % columns * kColumns);
        }
      });
      return;
    }
    const int64_t grain = 1 + 8192 / std::max<int64_t>(1, length() * 16);
    ParallelFor(0, plan_.panels() * runs, grain, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        depth_step_ == 1 ? PackPanel(item % runs, item / runs)
                         : PackOneByOne(item % runs, item / runs);
      }
    });
  }

 private:
  int64_t length() const { return part_.run_taps * part_.depth.channels; }  // of a run
  Bfloat16* To(int64_t run, int64_t panel) const {
    return to_ + panel * part_.panel() + run * length() * 16;
  }
  // Element k of a run, of the first output channel; null where the depth has been padded.
  const Bfloat16* From(int64_t run, int64_t k) const {
    const int64_t tap = part_.runs[size_t(run)].tap + k / part_.depth.channels * part_.tap_step;
    const int64_t channel = k % part_.depth.channels;
    if (channel >= plan_.depth()) return nullptr;
    return filter_.data + tap * filter_.tap + channel * depth_step_;
  }

  // Output channels lie side by side.
  void PackRows(int64_t run, int64_t first, int64_t column) const {
    const int64_t count = std::min(kRows, length() - first);
    const Bfloat16* at[kRows];
    for (int64_t k = 0; k < count; ++k) {
      const Bfloat16* const from = From(run, first + k);
      at[k] = from == nullptr ? kZeros : from + column;
    }
    const tile::Pixels pixels = {at, count, std::min(kColumns, plan_.out_channels() - column)};
    Bfloat16* const to = To(run, column / 16) + first * 16;
    in_vectors_ ? tile::PackPairsInVectors(pixels, to, part_.panel())
                : tile::PackPairsPlainly(pixels, to, part_.panel());
  }

  // Elements of the depth lie side by side.
  void PackPanel(int64_t run, int64_t panel) const {
    const int64_t channels = part_.depth.channels;
    for (int64_t k = 0; k < length(); k += channels) {
      const Bfloat16* rows[16];
      for (int64_t j = 0; j < 16; ++j) {
        const int64_t out = panel * 16 + j;
        rows[j] = out < plan_.out_channels() ? From(run, k) + out * out_step_ : nullptr;
      }
      Bfloat16* const to = To(run, panel) + k * 16;
      in_vectors_ ? tile::PackRowPairsInVectors(rows, plan_.depth(), channels, to)
                  : tile::PackRowPairsPlainly(rows, plan_.depth(), channels, to);
    }
  }

  void PackOneByOne(int64_t run, int64_t panel) const {
    Bfloat16* const to = To(run, panel);
    for (int64_t k = 0; k < length(); ++k) {
      const Bfloat16* const from = From(run, k);
      for (int64_t j = 0; j < 16; ++j) {
        const int64_t out = panel * 16 + j;
        const bool there = from != nullptr && out < plan_.out_channels();
        to[k / 2 * 32 + j * 2 + k % 2] = there ? from[out * out_step_] : Bfloat16(0);
      }
    }
  }

  const TilePlan& plan_;
  const TilePlan::Part& part_;
  const Filter<const Bfloat16>& filter_;
  const int64_t depth_step_, out_step_;
  const bool in_vectors_;
  Bfloat16* const to_;
};

}  // namespace

void PackFilter(const TilePlan& plan, const Filter<const Bfloat16>& filter, bool in_vectors,
                Bfloat16* derived) {
  for (const TilePlan::Part& part : plan.parts()) {
    Packing(plan, part, filter, in_vectors, derived).Run();
  }
}

}  // namespace dtnn::conv::amx
