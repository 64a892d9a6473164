// ThreadSanitizer sees accesses of protobuf and oneDNN, which it has not compiled, but not how
// these libraries synchronize them. Tests whose threads use them together link this file.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:google::protobuf::internal::LazyString::Init\n"
         "race:dnnl::reorder::reorder\n";
}
