#include "kernels/conv/geometry/untapped.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>

#include "tensor/threads/parallel_for.h"

namespace dtnn::conv {
namespace {

// For each result of an axis whether a phase has it.
std::vector<uint8_t> Tapped(const std::vector<Phase>& phases, int64_t results) {
  std::vector<uint8_t> tapped(size_t(results), 0);
  for (const Phase& phase : phases) {
    for (int64_t i = 0; i < phase.count; ++i) tapped[size_t(phase.first + i * phase.step)] = 1;
  }
  return tapped;
}

}  // namespace

Untapped::Untapped(const Conv2dSpec& spec, Direction direction)
    : width_(HorizontalResults(spec, direction)),
      rows_(Tapped(VerticalPhases(spec, direction), VerticalResults(spec, direction))) {
  const std::vector<uint8_t> columns = Tapped(HorizontalPhases(spec, direction), width_);
  for (int64_t w = 0; w < width_; ++w) {
    if (columns[size_t(w)] != 0) continue;
    if (columns_.empty() || columns_.back().end != w) columns_.push_back({w, w});
    ++columns_.back().end;
  }
  any_ = !columns_.empty() || std::ranges::count(rows_, uint8_t{0}) > 0;
}

template <typename T>
void Untapped::Write(const typename DataKernel<T>::Call& call, int64_t channels) const {
  const Images<T>& out = call.out;
  const T* const addend = call.write_back.addend.data;
  if (!any_) return;
  assert(addend == nullptr || addend == out.data);
  if (addend != nullptr) return;
  const auto write = [&](int64_t image, int64_t row, int64_t column, int64_t elements) {
    std::memset(out.At(image, row) + column * out.pixel, 0, size_t(elements) * sizeof(T));
  };
  const bool dense = out.pixel == channels;
  const auto write_run = [&](int64_t image, int64_t row, Run run) {
    if (dense) return write(image, row, run.begin, (run.end - run.begin) * channels);
    for (int64_t w = run.begin; w < run.end; ++w) write(image, row, w, channels);
  };
  const int64_t height = int64_t(rows_.size());
  const int64_t grain = 1 + 16384 / (width_ * channels);
  ParallelFor(0, call.images * height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / height, row = i % height;
      if (rows_[size_t(row)] == 0) {
        write_run(image, row, {0, width_});
        continue;
      }
      for (const Run& run : columns_) write_run(image, row, run);
    }
  });
}

template void Untapped::Write<float>(const DataKernel<float>::Call&, int64_t) const;
template void Untapped::Write<double>(const DataKernel<double>::Call&, int64_t) const;
template void Untapped::Write<Bfloat16>(const DataKernel<Bfloat16>::Call&, int64_t) const;

}  // namespace dtnn::conv
