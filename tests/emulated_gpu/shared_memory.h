#pragma once

// Memory of a block is static memory, since one block runs at a time.
#if defined(__SANITIZE_THREAD__)
#define GF_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GF_THREAD_SANITIZER
#endif
#endif

#ifdef GF_THREAD_SANITIZER
// By the tag ForgetSharedMemory finds it.
#define GF_SHARED static __attribute__((abi_tag("gf_shared")))
#else
#define GF_SHARED static
#endif

namespace gf::emulated {

// Another block has this memory from here on: lets ThreadSanitizer forget who used it. Nothing
// without ThreadSanitizer.
void ForgetSharedMemory();

}  // namespace gf::emulated
