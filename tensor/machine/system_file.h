// The text files in which the kernel tells of the machine: those of /proc and of control groups.

#ifndef DTNN_TENSOR_MACHINE_SYSTEM_FILE_H_
#define DTNN_TENSOR_MACHINE_SYSTEM_FILE_H_

#include <string>
#include <vector>

namespace dtnn {

// None where there is no such file.
std::vector<std::string> LinesOf(const std::string& path);
// Between blanks and tabs.
std::vector<std::string> WordsOf(const std::string& line);

}  // namespace dtnn

#endif  // DTNN_TENSOR_MACHINE_SYSTEM_FILE_H_
