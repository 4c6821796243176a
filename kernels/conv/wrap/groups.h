// Groups for kernels that know only one: a kernel around another, which is called once for each
// group on views of its channels.

#ifndef DTNN_KERNELS_CONV_WRAP_GROUPS_H_
#define DTNN_KERNELS_CONV_WRAP_GROUPS_H_

#include <memory>

#include "kernels/conv/kernel.h"

namespace dtnn::conv {

// The spec of one group.
Conv2dSpec GroupSpec(const Conv2dSpec& spec);

// `kernel` was made for GroupSpec(spec). It has one workspace, whatever the number of groups. Of a
// gradient of filters, a batch comes in one call of Sum, and its operands stay until Write.
template <typename T>
std::unique_ptr<DataKernel<T>> ForEachGroup(const Conv2dSpec& spec, Direction direction,
                                            std::unique_ptr<DataKernel<T>> kernel);
template <typename T>
std::unique_ptr<FilterKernel<T>> ForEachGroup(const Conv2dSpec& spec,
                                              std::unique_ptr<FilterKernel<T>> kernel);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_WRAP_GROUPS_H_
