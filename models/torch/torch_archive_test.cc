#include "models/torch/torch_archive.h"

#include <dlfcn.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/must.h"

// In place of libzip's: a call may read less than it is asked for.
extern "C" zip_int64_t zip_fread(zip_file_t* file, void* to, zip_uint64_t bytes) {
  static const auto real = reinterpret_cast<decltype(&zip_fread)>(dlsym(RTLD_NEXT, "zip_fread"));
  return real(file, to, std::min(bytes, zip_uint64_t{7}));
}

namespace dtnn {
namespace {

TEST(TorchArchiveTest, MembersComeInAnyNumberOfReads) {
  const InputFile file = Must(InputFile::Open("models/torch/testdata/view.pth"));
  const TorchArchive archive = Must(TorchArchive::Open(file));
  EXPECT_EQ(Must(archive.Folder()), "w/");
  const std::string bytes = Must(archive.Read("w/data/0", 64));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

}  // namespace
}  // namespace dtnn
