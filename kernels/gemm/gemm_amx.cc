// Variant "amx": products of bfloat16 in tiles, on CPUs that have them.

#include <memory>

#include "kernels/amx/amx.h"
#include "kernels/amx/tiles.h"
#include "kernels/gemm/amx/tile_product.h"
#include "kernels/gemm/column_sums.h"
#include "kernels/gemm/gemm_variants.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

#ifdef DTNN_HAS_TILES
using Product = TileProduct<HardwareTiles>;
#else
using Product = TileProduct<EmulatedTiles>;  // never made
#endif

class AmxGemm : public Gemm {
 public:
  AmxGemm(Device device, const GemmSpec& spec)
      : device_(device),
        spec_(spec),
        product_(spec.m, spec.n, spec.k, spec.transpose_a, spec.transpose_b) {}

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace workspace) override {
    GemmSizes sizes;
    DTNN_RETURN_IF_ERROR(CheckGemmCall(spec_, device_, a, b, c, operands, &sizes));
    DTNN_RETURN_IF_ERROR(CheckGemmWorkspace(spec_, workspace, workspace_bytes()));
    Product::Call call;
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
  std::string_view variant() const override { return "amx"; }

 private:
  const Device device_;
  const GemmSpec spec_;
  const Product product_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> CreateAmxGemm(DeviceContext& context, const GemmSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckCpu("amx", context, spec));
  if (spec.dtype != DType::kBfloat16) return Unimplemented("multiplies bfloat16 only");
  if (const std::string_view refusal = AmxRefusal(); !refusal.empty()) {
    return Unimplemented(refusal);
  }
  if (spec.wide_result && (spec.accumulate || spec.epilogue != Epilogue())) {
    return Unimplemented("has no epilogue for results of float32");
  }
  return WithColumnSums(context, spec, std::make_unique<AmxGemm>(context.device(), spec));
}

}  // namespace dtnn
