#include "tensor/text/class_name.h"

#include "tensor/text/one_line.h"

namespace dtnn {

bool IsClassName(std::string_view name) {
  return !name.empty() && name.size() <= kMostClassNameBytes && OneLine(name) == name;
}

}  // namespace dtnn
