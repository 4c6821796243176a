#include "kernels/conv/choice/direct_methods.h"

namespace dtnn {
namespace {

struct DirectMethod {
  std::string_view name, variant;
};

constexpr DirectMethod kMethods[] = {
    {"planar", "direct"},
    {"convdirect_original_nhwc_default", "direct"},
    {"convdirect_im2row_nhwc_default", "i2c"},
    {"convdirect_conv_gemm_nhwc_default", "gemm"},
    {"convdirect_block_blis_nhwc_blis", "gemm"},
    {"convdirect_block_blis_nhwc_8x12", "gemm"},
    {"convdirect_block_blis_nhwc_4x20", "gemm"},
    {"convdirect_block_shalom_nhwc_7x12_npa_u4", "gemm"},
    {"convdirect_tzemeng_nhwc_7x12_u4", "gemm"},
};

}  // namespace

std::string_view VariantOfDirectMethod(std::string_view method) {
  for (const DirectMethod& known : kMethods) {
    if (known.name == method) return known.variant;
  }
  return "";
}

}  // namespace dtnn
