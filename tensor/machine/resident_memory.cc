#include "tensor/machine/resident_memory.h"

#include <unistd.h>

#include <charconv>
#include <string_view>

namespace dtnn {

int64_t ResidentBytes(int statm) {
  static const int64_t page = sysconf(_SC_PAGESIZE);
  char text[128];
  const ssize_t size = pread(statm, text, sizeof(text), 0);
  if (size <= 0) return 0;
  const std::string_view numbers(text, size_t(size));
  const size_t second = numbers.find(' ') + 1;  // 0: there is none
  int64_t pages = 0;
  if (second > 0) std::from_chars(text + second, text + size, pages);
  return pages * page;
}

}  // namespace dtnn
