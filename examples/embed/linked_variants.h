// Which algorithms of the convolution a program has linked.

#ifndef LINKED_VARIANTS_H_
#define LINKED_VARIANTS_H_

#include <string_view>
#include <vector>

std::vector<std::string_view> LinkedVariants();

#endif  // LINKED_VARIANTS_H_
