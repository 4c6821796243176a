#include "kernels/pad/pad.h"

#include <algorithm>

#include "kernels/elementwise/operands.h"
#include "kernels/elementwise/rows_of_images.h"
#include "kernels/pad/pad_gpu.h"
#include "kernels/pad/places.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class PadCpu : public Pad {
 public:
  explicit PadCpu(const PadSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckPadCall(spec_, Device::Cpu(), x, y));
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto from = RowsOfImage<const T>(x);
      const auto to = RowsOfImage<T>(y);
      ForEachRow(x.shape()[0] * from.planes, rows_.padded(), [&](int64_t plane, int64_t row) {
        const int64_t source = rows_.From(row);
        FillRow(from, source < 0 ? nullptr : from.Row(plane, source), to, to.Row(plane, row));
      });
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckPadCall(spec_, Device::Cpu(), dx, dy));
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto from = RowsOfImage<const T>(dy);
      const auto to = RowsOfImage<T>(dx);
      ForEachRow(dx.shape()[0] * to.planes, rows_.extent, [&](int64_t plane, int64_t row) {
        for (int64_t column = 0; column < columns_.extent; ++column) {
          T* const pixel = to.Row(plane, row) + column * to.view.pixel;
          AddPixel(from, plane, row, column, accumulate, pixel);
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  RowsOfImages<T> RowsOfImage(const Tensor& image) const {
    return RowsOfImages<T>::Of(image, spec_.image.channels, spec_.format);
  }
  template <class Body>
  void ForEachRow(int64_t planes, int64_t rows, const Body& body) const {
    const int64_t elements = columns_.padded() * spec_.image.channels;
    ParallelFor(0, planes * rows, 1 + kCopyGrain / elements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i / rows, i % rows);
    });
  }

  // A row of y from one of x; null: of the constant.
  template <typename T>
  void FillRow(const RowsOfImages<const T>& from, const T* x, const RowsOfImages<T>& to,
               T* y) const {
    const T value = T(spec_.value);
    const auto pixels = [&](int64_t begin, int64_t end) {
      for (int64_t column = begin; column < end; ++column) {
        const int64_t source = x == nullptr ? -1 : columns_.From(column);
        T* const pixel = y + column * to.view.pixel;
        if (source < 0) {
          std::fill_n(pixel, to.run, value);
        } else {
          std::copy_n(x + source * from.view.pixel, to.run, pixel);
        }
      }
    };
    const int64_t before = columns_.before, after = before + columns_.extent;
    if (x == nullptr || from.view.pixel != to.run || to.view.pixel != to.run) {
      return pixels(0, columns_.padded());
    }
    pixels(0, before);
    std::copy_n(x, columns_.extent * to.run, y + before * to.run);
    pixels(after, columns_.padded());
  }

  // The gradient of one pixel of x.
  template <typename T>
  void AddPixel(const RowsOfImages<const T>& from, int64_t plane, int64_t row, int64_t column,
                bool accumulate, T* pixel) const {
    using W = Wide<T>;
    const bool once = rows_.IsOnce(row) && columns_.IsOnce(column);
    const T* const place =
        from.Row(plane, rows_.before + row) + (columns_.before + column) * from.view.pixel;
    for (int64_t c = 0; c < from.run; ++c) {
      W sum = accumulate ? W(pixel[c]) : W(0);
      if (once) {
        sum += W(place[c]);
      } else {
        ForEachPlace(row, column, [&](int64_t r, int64_t s) {
          sum += W(from.Row(plane, r)[s * from.view.pixel + c]);
        });
      }
      pixel[c] = T(sum);
    }
  }
  template <class Body>
  void ForEachPlace(int64_t row, int64_t column, const Body& body) const {
    for (int i = 0; i < PadAxis::kRanges; ++i) {
      const PadRange rows = rows_.To(row, i);
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        for (int j = 0; j < PadAxis::kRanges; ++j) {
          const PadRange columns = columns_.To(column, j);
          for (int64_t s = columns.begin; s < columns.end; ++s) body(r, s);
        }
      }
    }
  }

  const PadSpec spec_;
  const PadAxis rows_ = RowsOf(spec_), columns_ = ColumnsOf(spec_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Pad>> CreatePad(DeviceContext& context, const PadSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("pad", context.device(), spec.dtype));
  DTNN_RETURN_IF_ERROR(CheckPad(spec));
  if (context.device().is_cpu()) return std::make_unique<PadCpu>(spec);
  return CreatePadGpu(context, spec);
}

}  // namespace dtnn
