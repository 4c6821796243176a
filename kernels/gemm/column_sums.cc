#include "kernels/gemm/column_sums.h"

#include <utility>

#include "kernels/bias/bias.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class SummingGemm : public Gemm {
 public:
  SummingGemm(std::unique_ptr<Gemm> product, std::unique_ptr<Bias> sums)
      : product_(std::move(product)), sums_(std::move(sums)) {}

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(product_->Run(a, b, c, operands, workspace));
    return sums_->Backward(b, operands.column_sums, /*accumulate=*/false);
  }
  size_t workspace_bytes() const override { return product_->workspace_bytes(); }
  std::string_view variant() const override { return product_->variant(); }

 private:
  std::unique_ptr<Gemm> product_;
  std::unique_ptr<Bias> sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> WithColumnSums(DeviceContext& context, const GemmSpec& spec,
                                                     std::unique_ptr<Gemm> product) {
  if (!spec.column_sums) return product;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Bias> sums,
                        CreateBias(context, {.channels = spec.n, .dtype = spec.dtype}));
  return std::make_unique<SummingGemm>(std::move(product), std::move(sums));
}

}  // namespace dtnn
