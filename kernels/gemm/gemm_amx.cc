// Products of bfloat16, on CPUs that have them: variant "amx" in tiles, "dot" of pairs in vectors.

#include <memory>

#include "kernels/amx/amx.h"
#include "kernels/amx/dots.h"
#include "kernels/amx/tiles.h"
#include "kernels/gemm/amx/tile_product.h"
#include "kernels/gemm/column_sums.h"
#include "kernels/gemm/gemm_variants.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

#ifdef DTNN_HAS_TILES
using Tiles = HardwareTiles;
#else
using Tiles = EmulatedTiles;  // never made
#endif

template <class Tiles>
class TileProductGemm : public Gemm {
  using Product = TileProduct<Tiles>;

 public:
  TileProductGemm(std::string_view name, Device device, const GemmSpec& spec)
      : name_(name),
        device_(device),
        spec_(spec),
        product_(spec.m, spec.n, spec.k, spec.transpose_a, spec.transpose_b) {}

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace workspace) override {
    GemmSizes sizes;
    DTNN_RETURN_IF_ERROR(CheckGemmCall(spec_, device_, a, b, c, operands, &sizes));
    DTNN_RETURN_IF_ERROR(CheckGemmWorkspace(spec_, workspace, workspace_bytes()));
    typename Product::Call call;
    call.m = sizes.m, call.n = sizes.n, call.k = sizes.k;
    call.a = {a.data<Bfloat16>(), a.RowPitch()};
    call.b = {b.data<Bfloat16>(), b.RowPitch()};
    const Epilogue& epilogue = spec_.epilogue;
    if (epilogue.scale) call.c.scale = operands.scale.data<float>();
    if (epilogue.bias) call.c.bias = operands.bias.data<float>();
    call.c.relu = epilogue.relu;
    if (epilogue.add || spec_.accumulate) {
      const Tensor& addend = epilogue.add ? operands.addend : c;
      call.c.addend = addend.data<Bfloat16>(), call.c.addend_pitch = addend.RowPitch();
    }
    call.c.out_pitch = c.RowPitch();
    if (spec_.wide_result) {
      call.c.wide = c.data<float>();
    } else {
      call.c.out = c.data<Bfloat16>();
    }
    call.workspace = workspace.data();
    product_.Run(call);
    return absl::OkStatus();
  }
  size_t workspace_bytes() const override { return product_.workspace_bytes(); }
  std::string_view variant() const override { return name_; }

 private:
  const std::string_view name_;
  const Device device_;
  const GemmSpec spec_;
  const Product product_;
};

// `refusal`: why there are no such products.
template <class Tiles>
absl::StatusOr<std::unique_ptr<Gemm>> Create(std::string_view name, std::string_view refusal,
                                             DeviceContext& context, const GemmSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckCpu(name, context, spec));
  if (spec.dtype != DType::kBfloat16) return Unimplemented("multiplies bfloat16 only");
  if (!refusal.empty()) return Unimplemented(refusal);
  if (spec.wide_result && (spec.accumulate || spec.epilogue != Epilogue())) {
    return Unimplemented("has no epilogue for results of float32");
  }
  return WithColumnSums(context, spec,
                        std::make_unique<TileProductGemm<Tiles>>(name, context.device(), spec));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> CreateAmxGemm(DeviceContext& context, const GemmSpec& spec) {
  return Create<Tiles>("amx", AmxRefusal(), context, spec);
}

absl::StatusOr<std::unique_ptr<Gemm>> CreateDotGemm(DeviceContext& context, const GemmSpec& spec) {
  const bool slow = DotRefusal().empty() && !DotsAreFast();
  return Create<HardwareDots>("dot", slow ? "takes longer than float32 on this CPU" : DotRefusal(),
                              context, spec);
}

}  // namespace dtnn
