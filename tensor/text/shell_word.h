// A text as a user would write it in a command, for messages with commands to copy.

#ifndef DTNN_TENSOR_TEXT_SHELL_WORD_H_
#define DTNN_TENSOR_TEXT_SHELL_WORD_H_

#include <string>
#include <string_view>

namespace dtnn {

// `text` as one word of a shell's command, in quotes where it needs them.
std::string ShellWord(std::string_view text);

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_SHELL_WORD_H_
