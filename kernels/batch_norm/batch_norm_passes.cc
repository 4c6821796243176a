// How a pass is divided: into wide rows, parts that one thread sums each, and stripes of columns.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/batch_norm/batch_norm_cpu.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using Pass = BatchNormPass;

int64_t Rounded(int64_t elements) { return RoundUp(elements, 16); }
int64_t GrainOf(int64_t elements) { return std::max<int64_t>(1, kCopyGrain / elements); }

// Few channels waste most of a vector, and short rows most of a stream's bandwidth: rows that
// follow each other without gaps become one wide row, preferably of whole vectors (of up to 16
// lanes).
int64_t RowsPerWideRow(int64_t channels) {
  constexpr int64_t kLanes = 16;
  const int64_t together = std::max<int64_t>(1, kBatchNormStripe / channels);
  const int64_t whole = kLanes / std::gcd(channels, kLanes);
  return together < whole ? together : together / whole * whole;
}

// Parts have a number of their own, so that the order of summation is the same on any number of
// threads: enough of them for many threads, as long as each has work for one, and much more to read
// than its sums are.
int64_t RowParts(int64_t rows, int64_t channels) {
  const int64_t most = std::min(rows * channels / (2 * kCopyGrain), rows / 64);
  return std::clamp<int64_t>(most, 1, 64);
}
int64_t ImageParts(int64_t images, int64_t channels) {
  return std::clamp<int64_t>(64 / channels, 1, std::max<int64_t>(1, images));
}

// The range of part `part` of `parts` of `count` things.
struct Range {
  int64_t begin, end;
};
Range PartOf(int64_t count, int64_t part, int64_t parts) {
  const int64_t each = CeilDiv(count, parts);
  return {std::min(count, part * each), std::min(count, (part + 1) * each)};
}

// The sums of the parts: two arrays of `channels` doubles each.
struct PartSums {
  double* base;
  int64_t pitch;
  double* At(int64_t part, int which) const { return base + (2 * part + which) * pitch; }
};

// The same rows, `together` of which are one; what is left over is not among them.
Pass Widened(const Pass& pass, int64_t together, std::byte* scratch) {
  Pass wide = pass;
  wide.rows /= together;
  wide.columns *= together;
  for (Operand* operand : {&wide.x, &wide.dy, &wide.other, &wide.out}) operand->pitch *= together;
  const size_t element = SizeOf(WideOf(pass.dtype)), bytes = size_t(pass.columns) * element;
  wide.coefficient_pitch = Rounded(wide.columns);
  for (int k = 0; k < Pass::kCoefficients; ++k) {
    const std::byte* from = pass.coefficients + size_t(k * pass.coefficient_pitch) * element;
    std::byte* to = scratch + size_t(k * wide.coefficient_pitch) * element;
    for (int64_t row = 0; row < together; ++row, to += bytes) std::memcpy(to, from, bytes);
  }
  wide.coefficients = scratch;
  return wide;
}

int64_t RowsTogether(const Pass& pass) {
  for (const Operand& operand : {pass.x, pass.dy, pass.other, pass.out}) {
    if (operand.pitch != pass.columns) return 1;
  }
  return std::clamp<int64_t>(RowsPerWideRow(pass.columns), 1, std::max<int64_t>(1, pass.rows));
}

void AddTo(double* sums, const double* more, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
}

// One part of a pass over wide rows.
void SumWideRows(const Pass& wide, int64_t together, const Range& rows, double* sum1,
                 double* sum2) {
  double columns1[kBatchNormStripe], columns2[kBatchNormStripe];
  std::fill_n(columns1, wide.columns, 0.0);
  std::fill_n(columns2, wide.columns, 0.0);
  BatchNormSumRows(wide, rows.begin, rows.end, 0, wide.columns, columns1, columns2);
  const int64_t channels = wide.columns / together;
  for (int64_t row = 0; row < together; ++row) {
    AddTo(sum1, columns1 + row * channels, channels);
    AddTo(sum2, columns2 + row * channels, channels);
  }
}

void SumAllRows(const Pass& pass, std::byte* scratch, int64_t parts, const PartSums& sums) {
  const int64_t together = RowsTogether(pass);
  const Pass wide = together > 1 ? Widened(pass, together, scratch) : pass;
  const int64_t stripes = CeilDiv(wide.columns, kBatchNormStripe);
  const int64_t work = pass.rows * pass.columns / (parts * stripes);
  ParallelFor(0, parts * stripes, GrainOf(work + 1), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t part = unit / stripes, first = unit % stripes * kBatchNormStripe;
      const Range rows = PartOf(wide.rows, part, parts);
      if (together > 1) {
        SumWideRows(wide, together, rows, sums.At(part, 0), sums.At(part, 1));
        continue;
      }
      const int64_t count = std::min(kBatchNormStripe, wide.columns - first);
      BatchNormSumRows(wide, rows.begin, rows.end, first, count, sums.At(part, 0) + first,
                       sums.At(part, 1) + first);
    }
  });
  if (const int64_t done = wide.rows * together; done < pass.rows) {
    BatchNormSumRows(pass, done, pass.rows, 0, pass.columns, sums.At(parts - 1, 0),
                     sums.At(parts - 1, 1));
  }
}

void SumAllPlanes(const Pass& pass, int64_t parts, const PartSums& sums) {
  const int64_t work = pass.rows * pass.columns / parts;
  ParallelFor(0, parts * pass.channels, GrainOf(work + 1), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin, count; unit < end; unit += count) {
      const int64_t part = unit / pass.channels, first = unit % pass.channels;
      count = std::min({kBatchNormTogether, pass.channels - first, end - unit});
      const Range images = PartOf(pass.rows, part, parts);
      BatchNormSumPlanes(pass, first, count, images.begin, images.end, sums.At(part, 0) + first,
                         sums.At(part, 1) + first);
    }
  });
}

size_t CoefficientBytes(DType dtype) {
  return size_t(Pass::kCoefficients * kBatchNormStripe) * SizeOf(WideOf(dtype));
}

}  // namespace

size_t BatchNormScratchBytes(const BatchNormSpec& spec) {
  const int64_t parts = std::max(RowParts(spec.batch * spec.positions, spec.channels),
                                 ImageParts(spec.batch, spec.channels));
  return CoefficientBytes(spec.dtype) + size_t(2 * parts * Rounded(spec.channels)) * sizeof(double);
}

void BatchNormSum(const Pass& pass, std::byte* scratch, double* sum1, double* sum2) {
  const int64_t parts =
      pass.planes ? ImageParts(pass.rows, pass.channels) : RowParts(pass.rows, pass.channels);
  const PartSums sums = {reinterpret_cast<double*>(scratch + CoefficientBytes(pass.dtype)),
                         Rounded(pass.channels)};
  std::memset(sums.base, 0, size_t(2 * parts * sums.pitch) * sizeof(double));
  if (pass.planes) {
    SumAllPlanes(pass, parts, sums);
  } else {
    SumAllRows(pass, scratch, parts, sums);
  }
  ParallelFor(0, pass.channels, GrainOf(parts), [&](int64_t begin, int64_t end) {
    for (const auto& [which, to] : {std::pair(0, sum1), std::pair(1, sum2)}) {
      std::fill(to + begin, to + end, 0.0);
      for (int64_t part = 0; part < parts; ++part) {
        AddTo(to + begin, sums.At(part, which) + begin, end - begin);
      }
    }
  });
}

void BatchNormMap(const Pass& pass, std::byte* scratch) {
  if (pass.planes) {
    ParallelFor(0, pass.rows * pass.channels, GrainOf(pass.columns),
                [&](int64_t begin, int64_t end) { BatchNormMapPlanes(pass, begin, end); });
    return;
  }
  const int64_t together = RowsTogether(pass);
  const Pass wide = together > 1 ? Widened(pass, together, scratch) : pass;
  ParallelFor(0, wide.rows, GrainOf(wide.columns),
              [&](int64_t begin, int64_t end) { BatchNormMapRows(wide, begin, end); });
  BatchNormMapRows(pass, wide.rows * together, pass.rows);
}

}  // namespace dtnn
