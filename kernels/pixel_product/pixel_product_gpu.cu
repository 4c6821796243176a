#include "kernels/gpu/runner.h"
#include "kernels/pixel_product/pixel_product_gpu.h"
#include "kernels/pixel_product/stored_product.h"
#include "tensor/status_macros.h"

namespace dtnn {

// Neighbouring threads have neighbouring columns of a row.
template <typename T>
struct PixelProductBody {
  using W = Wide<T>;
  StoredProduct<T> product;

  void Declare(int64_t, gpu::Accesses& accesses) {
    product.a.view.Declare(product.a.grid, accesses);
    product.b.view.Declare(product.b.grid, accesses);
    product.c.view.Declare(product.c.grid, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t j = i % product.n, row = i / product.n % product.m,
                  matrix = i / product.n / product.m, sample = matrix / product.heads,
                  head = matrix % product.heads;
    const bool ta = product.transpose_a, tb = product.transpose_b;
    const T* const a = product.a.Begin(sample, head) + row * (ta ? 1 : product.a.pitch);
    const T* const b = product.b.Begin(sample, head) + j * (tb ? product.b.pitch : 1);
    const int64_t next_a = ta ? product.a.pitch : 1, next_b = tb ? 1 : product.b.pitch;
    W sum = 0;
    for (int64_t p = 0; p < product.k; ++p) sum += W(a[p * next_a]) * W(b[p * next_b]);
    sum *= W(product.factor);
    T& to = product.c.Begin(sample, head)[row * product.c.pitch + j];
    to = T(product.accumulate ? W(to) + sum : sum);
  }
};

class PixelProductGpu : public PixelProduct {
 public:
  PixelProductGpu(const GpuRunner& runner, const PixelProductSpec& spec)
      : runner_(runner), spec_(spec) {}

  absl::Status Scores(const Tensor& x, const Tensor& y, const Tensor& s, bool accumulate,
                      Workspace /*workspace*/) override {
    return Run("scores of pixels", PixelProductKind::kScores, {x, y, s}, accumulate);
  }
  absl::Status Weigh(const Tensor& s, const Tensor& y, const Tensor& x, bool accumulate,
                     Workspace /*workspace*/) override {
    return Run("weighted sum of pixels", PixelProductKind::kWeigh, {x, y, s}, accumulate);
  }
  absl::Status Gather(const Tensor& s, const Tensor& x, const Tensor& y, bool accumulate,
                      Workspace /*workspace*/) override {
    return Run("weighted sum of pixels, transposed", PixelProductKind::kGather, {x, y, s},
               accumulate);
  }

 private:
  absl::Status Run(std::string_view what, PixelProductKind kind, const PixelMatrices& operands,
                   bool accumulate) {
    DTNN_RETURN_IF_ERROR(CheckPixelProduct(spec_, runner_.device(), operands));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto product = StoredProduct<T>::Of(spec_, kind, operands, accumulate);
      return runner_.ForEach(what, product.samples * product.heads * product.m * product.n,
                             PixelProductBody<T>{product});
    });
  }

  GpuRunner runner_;
  const PixelProductSpec spec_;
};

absl::StatusOr<std::unique_ptr<PixelProduct>> CreatePixelProductGpu(DeviceContext& context,
                                                                    const PixelProductSpec& spec) {
  return std::make_unique<PixelProductGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
