#include "kernels/int8/products.h"

namespace dtnn::int8 {

const ProductKernel& KernelOf(Int8Level level) {
  switch (level) {
    case Int8Level::kAvxVnni:
      return AvxVnniProducts();
    case Int8Level::kAvx512Vnni:
      return Avx512VnniProducts();
    case Int8Level::kTiles:
      return TileProducts();
    case Int8Level::kEmulatedTiles:
      return EmulatedTileProducts();
    case Int8Level::kVectors:
      break;
  }
  return VectorProducts();
}

}  // namespace dtnn::int8
