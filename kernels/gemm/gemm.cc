#include "kernels/gemm/gemm.h"

#include "kernels/elementwise/operands.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"
#include "tensor/named_table.h"

namespace dtnn {
namespace {

constexpr GemmVariant kVariants[] = {
#define DTNN_GEMM_VARIANT(name, create) {name, create},
#include "kernels/gemm/variants.inc"
#undef DTNN_GEMM_VARIANT
};

std::vector<GemmVariant>& AllVariants() {
  static auto* const variants = new std::vector(std::begin(kVariants), std::end(kVariants));
  return *variants;
}

absl::Status Validate(const GemmSpec& spec) {
  if (spec.m < 0 || spec.n < 0 || spec.k < 0) {
    return InvalidArgument("gemm: negative size in m = ", spec.m, ", n = ", spec.n,
                           ", k = ", spec.k);
  }
  if (!IsFloating(spec.dtype) && !IsHalf(spec.dtype)) {
    return InvalidArgument("gemm: dtype ", Name(spec.dtype),
                           "; only float32 and float64 are multiplied");
  }
  if (spec.tf32 && spec.dtype != DType::kFloat32) {
    return InvalidArgument("gemm: TF32 is for float32, not for ", Name(spec.dtype));
  }
  if (spec.accumulate && spec.epilogue != Epilogue()) {
    return InvalidArgument("gemm: ", spec.ToString(),
                           " has both accumulate and an epilogue; choose one");
  }
  if (spec.column_sums && (spec.accumulate || spec.transpose_b)) {
    return InvalidArgument("gemm: ", spec.ToString(),
                           " sums columns; B cannot be transposed then, nor C be added to");
  }
  return absl::OkStatus();
}

// "(64, 1568) transposed", or what is wrong with the tensor itself.
std::string Describe(const Tensor& x, bool transposed) {
  if (x.empty()) return "no tensor";
  return StrCat(x.shape().ToString(), " ", Name(x.dtype()), transposed ? " transposed" : "");
}

bool IsMatrix(const Tensor& x, DType dtype, Device device) {
  return !x.empty() && x.shape().rank() == 2 && x.dtype() == dtype && x.device() == device;
}

}  // namespace

LinkedGemmVariant::LinkedGemmVariant(const GemmVariant& variant) {
  AllVariants().push_back(variant);
}

std::string GemmSpec::ToString() const {
  return StrCat("m", m, "n", n, "k", k, "_", transpose_a ? "t" : "n", transpose_b ? "t" : "n", "_",
                tf32 ? "t" : "", ShortName(dtype), wide_result ? "w" : "", accumulate ? "_acc" : "",
                epilogue.scale ? "_scale" : "", epilogue.bias ? "_bias" : "",
                epilogue.add ? "_add" : "", epilogue.relu ? "_relu" : "",
                column_sums ? "_sums" : "");
}

absl::Status CheckGemmCall(const GemmSpec& spec, Device device, const Tensor& a, const Tensor& b,
                           const Tensor& c, const EpilogueOperands& operands, GemmSizes* sizes) {
  const int ta = spec.transpose_a, tb = spec.transpose_b;
  const bool matrices = IsMatrix(a, spec.dtype, device) && IsMatrix(b, spec.dtype, device) &&
                        IsMatrix(c, spec.result_dtype(), device);
  if (!matrices || a.shape()[ta] != c.shape()[0] || b.shape()[1 - tb] != c.shape()[1] ||
      a.shape()[1 - ta] != b.shape()[tb]) {
    return InvalidArgument("gemm ", spec.ToString(), ": ", Describe(a, ta), " times ",
                           Describe(b, tb), " does not give ", Describe(c, false),
                           "; expected (m, k) times (k, n) gives (m, n), all ", Name(spec.dtype),
                           " on ", device.ToString());
  }
  *sizes = {c.shape()[0], c.shape()[1], a.shape()[1 - ta]};
  if (sizes->m > spec.m || sizes->n > spec.n || sizes->k > spec.k) {
    return InvalidArgument("gemm ", spec.ToString(), ": ", Describe(a, ta), " times ",
                           Describe(b, tb), " is larger than what it was made for");
  }
  const auto check = [&](bool wanted, const char* name, const Tensor& x, const Shape& shape,
                         DType dtype, Pitch pitch) {
    if (!wanted) return absl::OkStatus();
    return CheckOperand("gemm", name, x, device, dtype, shape, pitch);
  };
  const DType wide = WideOf(spec.dtype);
  const Shape columns = {sizes->n};
  const Epilogue& epilogue = spec.epilogue;
  DTNN_RETURN_IF_ERROR(
      check(epilogue.scale, "the epilogue's scale", operands.scale, columns, wide, Pitch::kNone));
  DTNN_RETURN_IF_ERROR(
      check(epilogue.bias, "the epilogue's bias", operands.bias, columns, wide, Pitch::kNone));
  DTNN_RETURN_IF_ERROR(check(spec.column_sums, "the sums of columns", operands.column_sums, columns,
                             wide, Pitch::kNone));
  return check(epilogue.add, "the epilogue's addend", operands.addend, c.shape(),
               spec.result_dtype(), Pitch::kAllowed);
}

absl::Status CheckGemmWorkspace(const GemmSpec& spec, Workspace workspace, size_t bytes) {
  if (workspace.size() >= bytes) return absl::OkStatus();
  return InvalidArgument("gemm ", spec.ToString(), ": a workspace of ", workspace.size(),
                         " bytes, expected ", bytes);
}

absl::Status CheckCpu(std::string_view variant, const DeviceContext& context,
                      const GemmSpec& spec) {
  if (!context.device().is_cpu()) {
    return NoKernelFor(StrCat("gemm variant ", variant), context.device());
  }
  return CheckFloating("gemm", context.device(), spec.dtype);
}

absl::StatusOr<std::unique_ptr<Gemm>> CreateFirst(std::span<const GemmVariant> variants,
                                                  DeviceContext& context, const GemmSpec& spec) {
  std::string reasons;
  for (const GemmVariant& variant : variants) {
    auto gemm = variant.create(context, spec);
    const bool refused =
        absl::IsInvalidArgument(gemm.status()) || absl::IsUnimplemented(gemm.status());
    if (!refused) return gemm;
    StrAppend(&reasons, "; ", variant.name, ": ", gemm.status().message());
  }
  return InvalidArgument("gemm: no variant for ", spec.ToString(), reasons);
}

absl::StatusOr<std::unique_ptr<Gemm>> CreateGemm(DeviceContext& context, const GemmSpec& spec) {
  DTNN_RETURN_IF_ERROR(Validate(spec));
  return CreateFirst(kVariants, context, spec);
}

absl::StatusOr<std::unique_ptr<Gemm>> CreateGemm(DeviceContext& context, const GemmSpec& spec,
                                                 std::string_view variant) {
  DTNN_RETURN_IF_ERROR(Validate(spec));
  DTNN_ASSIGN_OR_RETURN(const GemmVariant* found,
                        FindNamed(AllVariants(), "gemm variant", variant));
  return found->create(context, spec);
}

std::vector<std::string_view> GemmVariants() { return NamesIn(AllVariants()); }

}  // namespace dtnn
