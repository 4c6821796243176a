// Small .tar and .zip archives for tests, hostile ones among them.

#ifndef DTNN_DATA_TESTING_ARCHIVES_H_
#define DTNN_DATA_TESTING_ARCHIVES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace dtnn::testing {

struct Member {
  std::string name;
  std::vector<uint8_t> bytes;
  char type = '0';       // of a .tar: '0' file, '1' hard link, '2' symbolic link, '5' folder
  int64_t claimed = -1;  // of a .tar: the size that the header says, where it lies
};

// The headers are ustar's, the end two empty blocks. Names up to 99 bytes.
std::vector<uint8_t> TarBytes(const std::vector<Member>& members);

// Deflated files only.
std::vector<uint8_t> ZipBytes(const std::vector<Member>& members);

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_ARCHIVES_H_
