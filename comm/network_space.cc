#include "comm/network_space.h"

#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <string>

#include "tensor/text/str_cat.h"

namespace dtnn {

uint64_t NetworkSpace() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat space = {};
  stat("/proc/self/ns/net", &space);
  return std::hash<std::string>()(StrCat(boot, " ", uint64_t(space.st_ino)));
}

}  // namespace dtnn
