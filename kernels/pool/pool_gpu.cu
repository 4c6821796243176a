#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"
#include "kernels/pool/pool_gpu.h"
#include "kernels/transfers/transfers.h"
#include "tensor/status_macros.h"

namespace dtnn::pool {

// An axis on the device: its windows, and for each element the outputs that may hold it.
struct DeviceAxis {
  const Window* windows;
  const OutputRange* by_element;
  int64_t outputs, extent, taps, dilation;

  void DeclareWindows(gpu::Accesses& accesses) { accesses.Reads(windows, outputs); }
  void DeclareAll(gpu::Accesses& accesses) {
    DeclareWindows(accesses);
    accesses.Reads(by_element, extent);
  }
  // The number of an element in the window of an output, or -1 where that does not hold it.
  DTNN_HOST_DEVICE int64_t TapOf(int64_t element, int64_t output) const {
    const Window window = windows[output];
    const int64_t distance = element - window.first;
    if (distance < 0) return -1;
    // In 32 bits, which hold the extent of an image: divisions in 64 bits are slow.
    const uint32_t tap = uint32_t(distance) / uint32_t(dilation);
    if (tap * dilation != distance || tap >= window.count) return -1;
    return window.tap + tap;
  }
};

template <typename T, typename Argmax>
struct PoolForwardBody {
  using W = Wide<T>;
  bool average;
  DeviceAxis rows, columns;
  ImageGrid in, out;
  ImageView<const T> x;
  ImageView<T> y;
  Argmax* argmax;  // null where nobody asks for them

  void Declare(int64_t n, gpu::Accesses& accesses) {
    rows.DeclareWindows(accesses);
    columns.DeclareWindows(accesses);
    x.Declare(in, accesses);
    y.Declare(out, accesses);
    accesses.Writes(argmax, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = out(i);
    const Window row = rows.windows[cell.row], column = columns.windows[cell.column];
    const auto at = [&](int64_t a, int64_t b) {
      return W(x.At(cell.image, row.first + a * rows.dilation, column.first + b * columns.dilation,
                    cell.channel));
    };
    if (average) {
      W sum = 0, part = 0;
      int64_t elements = 0;
      for (int64_t a = 0; a < row.count; ++a) {
        for (int64_t b = 0; b < column.count; ++b) {
          part += at(a, b);
          if (++elements < kPartOfMean) continue;
          sum += part;
          part = 0;
          elements = 0;
        }
      }
      y[cell] = T((sum + part) / W(row.divisor * column.divisor));
      return;
    }
    W result = at(0, 0);
    int64_t index = row.tap * columns.taps + column.tap;
    for (int64_t a = 0; a < row.count; ++a) {
      for (int64_t b = 0; b < column.count; ++b) {
        const W value = at(a, b);
        if (!(value > result || std::isnan(value))) continue;
        result = value;
        index = (row.tap + a) * columns.taps + column.tap + b;
      }
    }
    y[cell] = T(result);
    if (argmax != nullptr) argmax[i] = Argmax(index);
  }
};

template <typename T, typename Argmax>
struct PoolBackwardBody {
  using W = Wide<T>;
  bool accumulate;
  DeviceAxis rows, columns;
  ImageGrid in, out;
  ImageView<const T> dy;
  const Argmax* argmax;  // null for means
  ImageView<T> dx;

  void Declare(int64_t, gpu::Accesses& accesses) {
    rows.DeclareAll(accesses);
    columns.DeclareAll(accesses);
    dy.Declare(out, accesses);
    accesses.Reads(argmax, out.size());
    dx.Declare(in, accesses);
  }
  DTNN_HOST_DEVICE W GradientFrom(const ImageCell& output, int64_t row_tap,
                                  int64_t column_tap) const {
    const W gradient = W(dy[output]);
    if (argmax == nullptr) {
      return gradient /
             W(rows.windows[output.row].divisor * columns.windows[output.column].divisor);
    }
    return argmax[out.IndexOf(output)] == Argmax(row_tap * columns.taps + column_tap) ? gradient
                                                                                      : W(0);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const ImageCell cell = in(i);
    const OutputRange vertical = rows.by_element[cell.row];
    const OutputRange horizontal = columns.by_element[cell.column];
    W sum = 0;
    for (int64_t h = vertical.begin; h < vertical.end; ++h) {
      const int64_t row_tap = rows.TapOf(cell.row, h);
      for (int64_t w = horizontal.begin; w < horizontal.end && row_tap >= 0; ++w) {
        const int64_t column_tap = columns.TapOf(cell.column, w);
        if (column_tap < 0) continue;
        sum += GradientFrom({cell.image, h, w, cell.channel}, row_tap, column_tap);
      }
    }
    T& to = dx[cell];
    to = T(accumulate ? W(to) + sum : sum);
  }
};

// A pixel of images whose channels lie side by side.
struct Pixel {
  uint32_t image, row, column;

  DTNN_HOST_DEVICE static Pixel Of(uint32_t number, const ImageGrid& grid) {
    const uint32_t width = uint32_t(grid.width), height = uint32_t(grid.height);
    const uint32_t line = number / width, image = line / height;
    return {image, line - image * height, number - line * width};
  }
};

// The same as PoolForwardBody for NHWC, a vector of channels at once.
template <typename T, typename Argmax, int kVector>
struct PoolForwardRowsBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 1;
  bool average;
  DeviceAxis rows, columns;
  ImageGrid in, out;
  ImageView<const T> x;
  gpu::VectorView<T, kLanes> y;
  Argmax* argmax;

  using Kept = gpu::NothingKept;
  struct Loaded {
    W value[kLanes];
    int64_t index[kLanes];
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    rows.DeclareWindows(accesses);
    columns.DeclareWindows(accesses);
    x.Declare(in, accesses);
    y.Declare(grid, accesses);
    accesses.Writes(argmax, out.size());
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    const Pixel pixel = Pixel::Of(cell.row, out);
    const Window row = rows.windows[pixel.row], column = columns.windows[pixel.column];
    const auto at = [&](int64_t a, int64_t b) {
      return gpu::LoadVector<kLanes>(&x.At(pixel.image, row.first + a * rows.dilation,
                                           column.first + b * columns.dilation,
                                           int64_t(cell.column) * kLanes));
    };
    Loaded result = {};
    if (average) {
      W part[kLanes] = {};
      const auto add_part = [&] {
        for (int i = 0; i < kLanes; ++i) result.value[i] += part[i];
      };
      int64_t elements = 0;
      for (int64_t a = 0; a < row.count; ++a) {
        for (int64_t b = 0; b < column.count; ++b) {
          const gpu::Vector<T, kLanes> values = at(a, b);
          for (int i = 0; i < kLanes; ++i) part[i] += W(values[i]);
          if (++elements < kPartOfMean) continue;
          add_part();
          for (int i = 0; i < kLanes; ++i) part[i] = 0;
          elements = 0;
        }
      }
      add_part();
      for (int i = 0; i < kLanes; ++i) result.value[i] /= W(row.divisor * column.divisor);
      return result;
    }
    for (int64_t a = 0; a < row.count; ++a) {
      for (int64_t b = 0; b < column.count; ++b) {
        const gpu::Vector<T, kLanes> values = at(a, b);
        const int64_t tap = (row.tap + a) * columns.taps + column.tap + b;
        for (int i = 0; i < kLanes; ++i) {
          const W value = W(values[i]);
          const bool first = a == 0 && b == 0;
          if (!(first || value > result.value[i] || std::isnan(value))) continue;
          result.value[i] = value;
          result.index[i] = tap;
        }
      }
    }
    return result;
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<T, kLanes> values;
    gpu::Vector<Argmax, kLanes> taps;
    for (int i = 0; i < kLanes; ++i) {
      values.Set(i, T(loaded.value[i]));
      taps.Set(i, Argmax(loaded.index[i]));
    }
    y.Store(cell, values);
    if (argmax == nullptr) return;
    gpu::StoreVector(argmax + int64_t(cell.row) * out.channels + int64_t(cell.column) * kLanes,
                     taps);
  }
};

// The same as PoolBackwardBody, likewise: gathers from the windows that hold the pixel.
template <typename T, typename Argmax, int kVector>
struct PoolBackwardRowsBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 1;
  bool accumulate;
  DeviceAxis rows, columns;
  ImageGrid in, out;
  ImageView<const T> dy;
  const Argmax* argmax;  // null for means
  gpu::VectorView<T, kLanes> dx;

  using Kept = gpu::NothingKept;
  struct Loaded {
    W sum[kLanes];
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    rows.DeclareAll(accesses);
    columns.DeclareAll(accesses);
    dy.Declare(out, accesses);
    accesses.Reads(argmax, out.size());
    dx.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    const Pixel pixel = Pixel::Of(cell.row, in);
    const int64_t channel = int64_t(cell.column) * kLanes;
    const OutputRange vertical = rows.by_element[pixel.row];
    const OutputRange horizontal = columns.by_element[pixel.column];
    Loaded loaded = {};
    for (int64_t h = vertical.begin; h < vertical.end; ++h) {
      const int64_t row_tap = rows.TapOf(pixel.row, h);
      for (int64_t w = horizontal.begin; w < horizontal.end && row_tap >= 0; ++w) {
        const int64_t column_tap = columns.TapOf(pixel.column, w);
        if (column_tap >= 0) AddFrom({pixel.image, h, w, channel}, row_tap, column_tap, loaded);
      }
    }
    if (!accumulate) return loaded;
    const gpu::Vector<T, kLanes> before = gpu::LoadVector<kLanes, T>(dx.At(cell));
    for (int i = 0; i < kLanes; ++i) loaded.sum[i] = W(before[i]) + loaded.sum[i];
    return loaded;
  }
  DTNN_HOST_DEVICE void AddFrom(const ImageCell& output, int64_t row_tap, int64_t column_tap,
                                Loaded& loaded) const {
    const gpu::Vector<T, kLanes> gradient = gpu::LoadVector<kLanes>(&dy[output]);
    if (argmax == nullptr) {
      const W divisor =
          W(rows.windows[output.row].divisor * columns.windows[output.column].divisor);
      for (int i = 0; i < kLanes; ++i) loaded.sum[i] += W(gradient[i]) / divisor;
      return;
    }
    const auto taps = gpu::LoadVector<kLanes>(argmax + out.IndexOf(output));
    const Argmax own = Argmax(row_tap * columns.taps + column_tap);
    for (int i = 0; i < kLanes; ++i) {
      if (taps[i] == own) loaded.sum[i] += W(gradient[i]);
    }
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) result.Set(i, T(loaded.sum[i]));
    dx.Store(cell, result);
  }
};

// The windows of a geometry on the device, and the launches over them.
class Passes {
 public:
  static absl::StatusOr<Passes> Create(DeviceContext& context, Geometry geometry) {
    Passes passes(context, std::move(geometry));
    DTNN_ASSIGN_OR_RETURN(passes.rows_, Upload(context, passes.geometry_.rows));
    DTNN_ASSIGN_OR_RETURN(passes.columns_, Upload(context, passes.geometry_.columns));
    return passes;
  }

  absl::Status Forward(std::string_view name, const Tensor& x, const Tensor& y,
                       const Tensor& argmax) const {
    DTNN_RETURN_IF_ERROR(CheckImages(name, geometry_, runner_.device(), "x", x, "y", y));
    if (!argmax.empty()) DTNN_RETURN_IF_ERROR(Check(name, argmax, y));
    return WithArgmax([&]<typename T, typename Argmax>(T, Argmax) {
      const ImageGrid out = GridOf(y);
      if (out.channels_last) {
        return WithPixels<T>(x, y, [&]<int kLanes>() {
          return runner_.ForEachVector(name, PixelsOf(out),
                                       PoolForwardRowsBody<T, Argmax, kLanes>{
                                           geometry_.average, AxisAt(rows_, geometry_.rows),
                                           AxisAt(columns_, geometry_.columns), GridOf(x), out,
                                           ImageView<const T>::Of(x, geometry_.format),
                                           PixelView<T, kLanes>(y), DataOf<Argmax>(argmax)});
        });
      }
      return runner_.ForEach(
          name, out.size(),
          PoolForwardBody<T, Argmax>{
              geometry_.average, AxisAt(rows_, geometry_.rows), AxisAt(columns_, geometry_.columns),
              GridOf(x), out, ImageView<const T>::Of(x, geometry_.format),
              ImageView<T>::Of(y, geometry_.format), DataOf<Argmax>(argmax)});
    });
  }

  absl::Status Backward(std::string_view name, const Tensor& dy, const Tensor& argmax,
                        const Tensor& dx, bool accumulate) const {
    DTNN_RETURN_IF_ERROR(CheckImages(name, geometry_, runner_.device(), "dx", dx, "dy", dy));
    DTNN_RETURN_IF_ERROR(Check(name, argmax, dy));
    return WithArgmax([&]<typename T, typename Argmax>(T, Argmax) {
      const ImageGrid in = GridOf(dx);
      if (in.channels_last) {
        return WithPixels<T>(dx, dy, [&]<int kLanes>() {
          return runner_.ForEachVector(
              name, PixelsOf(in),
              PoolBackwardRowsBody<T, Argmax, kLanes>{
                  accumulate, AxisAt(rows_, geometry_.rows), AxisAt(columns_, geometry_.columns),
                  in, GridOf(dy), ImageView<const T>::Of(dy, geometry_.format),
                  DataOf<Argmax>(argmax), PixelView<T, kLanes>(dx)});
        });
      }
      return runner_.ForEach(
          name, in.size(),
          PoolBackwardBody<T, Argmax>{
              accumulate, AxisAt(rows_, geometry_.rows), AxisAt(columns_, geometry_.columns), in,
              GridOf(dy), ImageView<const T>::Of(dy, geometry_.format), DataOf<Argmax>(argmax),
              ImageView<T>::Of(dx, geometry_.format)});
    });
  }

 private:
  struct UploadedAxis {
    Tensor windows, by_element;  // arrays of their structs, as int64
  };

  Passes(DeviceContext& context, Geometry geometry)
      : runner_(context), geometry_(std::move(geometry)) {}

  template <typename Item>
  static absl::StatusOr<Tensor> Upload(DeviceContext& context, const std::vector<Item>& items) {
    static_assert(sizeof(Item) % sizeof(int64_t) == 0);
    const Shape shape = {int64_t(items.size() * (sizeof(Item) / sizeof(int64_t)))};
    DTNN_ASSIGN_OR_RETURN(const Tensor host, Tensor::Allocate(Device::Cpu(), DType::kInt64, shape));
    std::memcpy(host.raw_data(), items.data(), items.size() * sizeof(Item));
    return ToDevice(context, host);
  }
  static absl::StatusOr<UploadedAxis> Upload(DeviceContext& context, const Axis& axis) {
    UploadedAxis uploaded;
    DTNN_ASSIGN_OR_RETURN(uploaded.windows, Upload(context, axis.windows));
    DTNN_ASSIGN_OR_RETURN(uploaded.by_element, Upload(context, axis.OutputsByElement()));
    return uploaded;
  }
  static DeviceAxis AxisAt(const UploadedAxis& uploaded, const Axis& axis) {
    return {reinterpret_cast<const Window*>(uploaded.windows.raw_data()),
            reinterpret_cast<const OutputRange*>(uploaded.by_element.raw_data()),
            axis.outputs(),
            axis.extent,
            axis.taps,
            axis.dilation};
  }

  // Vectors of channels in both images (NHWC).
  static gpu::VectorExtents PixelsOf(const ImageGrid& grid) {
    return gpu::VectorExtents::Rows(grid.images * grid.height * grid.width, grid.channels);
  }
  template <typename T, int kLanes>
  static gpu::VectorView<T, kLanes> PixelView(const Tensor& image) {
    return {image.data<T>(), image.PixelPitch()};
  }
  template <typename T, class Use>
  absl::Status WithPixels(const Tensor& a, const Tensor& b, const Use& use) const {
    const auto full = [&](const Tensor& image) {
      return GridOf(image).channels % gpu::kFullVector<T> == 0 &&
             gpu::AllowsFullVectors<T>(image.raw_data(), 2, image.PixelPitch());
    };
    return full(a) && full(b) ? use.template operator()<gpu::kFullVector<T>>()
                              : use.template operator()<1>();
  }

  ImageGrid GridOf(const Tensor& tensor) const {
    return ImageGrid::Of(tensor.shape(), geometry_.format);
  }
  absl::Status Check(std::string_view name, const Tensor& argmax, const Tensor& out) const {
    return CheckArgmax(name, geometry_, runner_.device(), argmax, out.shape());
  }
  template <typename Argmax>
  Argmax* DataOf(const Tensor& argmax) const {
    return geometry_.average || argmax.empty() ? nullptr : argmax.data<Argmax>();
  }
  template <class Run>
  absl::Status WithArgmax(const Run& run) const {
    return DispatchGpuFloating(geometry_.dtype, [&]<typename T>(T zero) {
      return geometry_.argmax_dtype == DType::kUint8 ? run(zero, uint8_t{}) : run(zero, int32_t{});
    });
  }

  GpuRunner runner_;
  Geometry geometry_;
  UploadedAxis rows_, columns_;
};

class PoolGpu : public Pool {
 public:
  explicit PoolGpu(Passes passes) : passes_(std::move(passes)) {}

  absl::Status Forward(const Tensor& x, const Tensor& y, const Tensor& argmax) override {
    return passes_.Forward(kName, x, y, argmax);
  }
  absl::Status Backward(const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                        bool accumulate) override {
    return passes_.Backward(kName, dy, argmax, dx, accumulate);
  }

 private:
  static constexpr std::string_view kName = "pool";

  Passes passes_;
};

class AdaptivePoolGpu : public AdaptivePool {
 public:
  explicit AdaptivePoolGpu(Passes passes) : passes_(std::move(passes)) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    return passes_.Forward(kName, x, y, Tensor());
  }
  absl::Status Backward(const Tensor& dy, const Tensor& dx, bool accumulate) override {
    return passes_.Backward(kName, dy, Tensor(), dx, accumulate);
  }

 private:
  static constexpr std::string_view kName = "adaptive pool";

  Passes passes_;
};

absl::StatusOr<std::unique_ptr<Pool>> CreatePoolGpu(DeviceContext& context, Geometry geometry) {
  DTNN_ASSIGN_OR_RETURN(Passes passes, Passes::Create(context, std::move(geometry)));
  return std::make_unique<PoolGpu>(std::move(passes));
}

absl::StatusOr<std::unique_ptr<AdaptivePool>> CreateAdaptivePoolGpu(DeviceContext& context,
                                                                    Geometry geometry) {
  DTNN_ASSIGN_OR_RETURN(Passes passes, Passes::Create(context, std::move(geometry)));
  return std::make_unique<AdaptivePoolGpu>(std::move(passes));
}

}  // namespace dtnn::pool
