export const toJson = (document) => JSON.stringify(document, null, 2);
