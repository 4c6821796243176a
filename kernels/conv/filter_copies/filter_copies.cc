#include "kernels/conv/filter_copies/filter_copies.h"

#include <algorithm>

#include "kernels/conv/filter_copies/filter_copies_gpu.h"
#include "tensor/errors.h"

namespace dtnn {

bool CopiesFiltersChannelsLast(Device device, TensorFormat format) {
  return !device.is_cpu() && format == TensorFormat::kNHWC;
}

absl::StatusOr<std::unique_ptr<Cast>> CreateFilterCopies(DeviceContext& context, DType from,
                                                         DType to, int64_t size,
                                                         std::vector<FilterPlace> filters) {
  if (filters.empty()) return CreateCast(context, from, to);
  std::ranges::sort(filters, {}, &FilterPlace::offset);
  int64_t end = 0;
  for (const FilterPlace& filter : filters) {
    if (filter.offset < end) {
      return InvalidArgument("copies of filters: the one from element ", filter.offset,
                             " on begins before ", end, ", where the one before it ends");
    }
    end = filter.offset + filter.channels * filter.taps * filter.filters;
  }
  if (end > size) {
    return InvalidArgument("copies of filters: the last one ends at element ", end, " of ", size);
  }
  if (context.device().is_cpu() || from != DType::kFloat32 || !IsHalf(to)) {
    return InvalidArgument("copies of filters: from ", Name(from), " to ", Name(to), " on ",
                           context.device().ToString(),
                           ", expected float32 and a type of 16 bits on a GPU");
  }
  return CreateFilterCopiesGpu(context, to, size, filters);
}

}  // namespace dtnn
